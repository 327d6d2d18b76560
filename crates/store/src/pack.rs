//! Keeps the repository small. Each checkpoint leaves a few loose objects: whole copies of files that hardly
//! differ. Once there are enough, they are packed as deltas.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid};

use crate::disk::sync_directory;
use crate::repository::REF;
use crate::{Error, GitRepository, Result};

/// After this many loose commits they are packed. At 1,000 beads a commit takes about a quarter of a megabyte
/// loose and a few kilobytes packed, so the loose part stays below some 8 MB.
pub const PACK_AFTER: usize = 32;

/// Where packed loose objects stay until the pack has proved readable without them.
const ASIDE: &str = "beads-packed";

/// The loose part of a history.
struct LooseHistory {
    commits: Vec<Oid>,
    /// Commits, trees and blobs, newest first.
    objects: Vec<LooseObject>,
}

struct LooseObject {
    id: Oid,
    kind: ObjectType,
    /// The file name, which helps the packer to find deltas.
    name: Option<String>,
}

impl GitRepository {
    /// Packs the loose objects of the sync ref's history if there are many. Returns how many objects were
    /// packed.
    pub fn pack_loose_history(&self) -> Result<usize> {
        self.restore_leftovers()?;
        let tip = self.git.refname_to_id(REF).ok();
        let LooseHistory { commits, objects } = self.loose_history(tip, None)?;
        if commits.len() < PACK_AFTER {
            return Ok(0);
        }
        self.write_pack(&objects)?;
        self.replace_loose_with_packed(&commits, &objects)?;
        Ok(objects.len())
    }

    fn objects_dir(&self) -> PathBuf {
        self.git.commondir().join("objects")
    }

    fn loose_path(&self, id: Oid) -> PathBuf {
        let name = id.to_string();
        self.objects_dir().join(&name[..2]).join(&name[2..])
    }

    /// Returns the loose commits from a tip back to the first packed or known one on each path, and their
    /// loose objects.
    fn loose_history(&self, tip: Option<Oid>, known: Option<Oid>) -> Result<LooseHistory> {
        let (mut commits, mut objects) = (Vec::new(), Vec::new());
        let mut seen: BTreeSet<Oid> = known.into_iter().collect();
        let mut wanted: Vec<Oid> = tip.into_iter().collect();
        while let Some(id) = wanted.pop() {
            if !seen.insert(id) || !self.loose_path(id).exists() {
                continue;
            }
            let commit = self.commit(&id.to_string())?;
            let tree = self.tree(&id.to_string())?;
            wanted.extend(commit.parent_ids());
            commits.push(id);
            objects.push(LooseObject { id, kind: ObjectType::Commit, name: None });
            let files = tree.iter().map(|entry| LooseObject {
                id: entry.id(),
                kind: entry.kind().unwrap_or(ObjectType::Blob),
                name: Some(String::from_utf8_lossy(entry.name_bytes()).into_owned()),
            });
            let tree = LooseObject { id: tree.id(), kind: ObjectType::Tree, name: None };
            let new = |object: &LooseObject| seen.insert(object.id) && self.loose_path(object.id).exists();
            objects.extend([tree].into_iter().chain(files).filter(new));
        }
        Ok(LooseHistory { commits, objects })
    }

    /// Makes the history of a fetched tip durable, back to `known`. The program that fetched it may not have
    /// synced it.
    pub(crate) fn sync_objects(&self, tip: &str, known: Option<&str>) -> Result<()> {
        let known = known.and_then(|known| Oid::from_str(known).ok());
        // Unreadable objects are reported by the code that needs them.
        let Ok(history) = self.loose_history(Oid::from_str(tip).ok(), known) else { return Ok(()) };
        let objects: Vec<_> = history.objects.iter().map(|object| object.id).collect();
        for object in &objects {
            let path = self.loose_path(*object);
            let synced = fs::File::open(&path).and_then(|file| file.sync_all());
            synced.map_err(|source| Error::Io { action: "sync", path, source })?;
        }
        self.sync_directories_of(&objects)?;
        self.sync_packs()
    }

    fn write_pack(&self, objects: &[LooseObject]) -> Result<()> {
        let mut pack = self.git.packbuilder()?;
        for LooseObject { id, kind, name } in objects {
            // libgit2 would never return from a truncated object.
            self.loose(&id.to_string(), *id, *kind)?;
            pack.insert_object(*id, name.as_deref())?;
        }
        let odb = self.git.odb()?;
        let mut writer = odb.packwriter()?;
        pack.foreach(|bytes| writer.write_all(bytes).is_ok())?;
        writer.commit()?;
        self.sync_packs()
    }

    /// Makes the directory entries of packs durable. Their contents already are.
    pub(crate) fn sync_packs(&self) -> Result<()> {
        let directory = self.objects_dir().join("pack");
        match sync_directory(&directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(|source| Error::Io { action: "sync", path: directory, source }),
        }
    }

    /// Moves the loose objects aside, reads every commit back from the pack alone, and only then deletes
    /// them.
    fn replace_loose_with_packed(&self, commits: &[Oid], objects: &[LooseObject]) -> Result<()> {
        let aside = self.objects_dir().join(ASIDE);
        let io = |source| Error::Io { action: "move packed objects to", path: aside.clone(), source };
        fs::create_dir_all(&aside).map_err(io)?;
        let mut moved = Vec::new();
        for LooseObject { id, .. } in objects {
            let place = aside.join(id.to_string());
            fs::rename(self.loose_path(*id), &place).map_err(io)?;
            moved.push((*id, place));
        }
        if let Err(error) = self.read_back(commits) {
            for (object, place) in moved {
                fs::rename(place, self.loose_path(object)).map_err(io)?;
            }
            return Err(error);
        }
        fs::remove_dir_all(&aside).map_err(io)
    }

    fn read_back(&self, commits: &[Oid]) -> Result<()> {
        let fresh = git2::Repository::open(self.git.commondir())?;
        for commit in commits {
            for entry in &fresh.find_commit(*commit)?.tree()? {
                fresh.find_blob(entry.id())?;
            }
        }
        Ok(())
    }

    /// Moves objects that a crash left aside back to their place, where they are found or packed again.
    fn restore_leftovers(&self) -> Result<()> {
        let aside = self.objects_dir().join(ASIDE);
        let Ok(entries) = fs::read_dir(&aside) else { return Ok(()) };
        let io = |source| Error::Io { action: "put objects back from", path: aside.clone(), source };
        for entry in entries {
            let entry = entry.map_err(io)?;
            if let Ok(object) = Oid::from_str(&entry.file_name().to_string_lossy()) {
                put_back(&entry.path(), &self.loose_path(object)).map_err(io)?;
            }
        }
        fs::remove_dir_all(&aside).map_err(io)
    }
}

fn put_back(from: &Path, to: &Path) -> std::io::Result<()> {
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::rename(from, to)
}
