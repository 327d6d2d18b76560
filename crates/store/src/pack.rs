//! Keeping the repository small. Each checkpoint leaves a few loose objects, whole copies of files that hardly differ;
//! once there are enough of them they go into one pack, as deltas.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use git2::Oid;

use crate::disk::sync_directory;
use crate::repository::REF;
use crate::{Error, GitRepository, Result};

/// So many loose commits are packed together. At 1,000 beads a commit is about a quarter of a megabyte loose and a few
/// kilobytes packed, so this many bound the loose part to some 8 MB.
pub const PACK_AFTER: usize = 32;

/// Where packed loose objects wait until the pack has proved readable without them.
const ASIDE: &str = "beads-packed";

/// What there is to pack.
struct LooseHistory {
    commits: Vec<Oid>,
    /// Commits, trees and blobs, newest first, with the names of the files: the packer finds deltas by them.
    objects: Vec<(Oid, String)>,
}

impl GitRepository {
    /// Packs the loose objects of the sync ref's history when there are many. Returns how many objects were packed.
    pub fn pack_loose_history(&self) -> Result<usize> {
        self.remove_leftovers()?;
        let LooseHistory { commits, objects } = self.loose_history()?;
        if commits.len() < PACK_AFTER {
            return Ok(0);
        }
        self.write_pack(&objects)?;
        self.trade_loose_for_packed(&commits, &objects)?;
        Ok(objects.len())
    }

    fn objects_dir(&self) -> PathBuf {
        self.git.commondir().join("objects")
    }

    fn loose_path(&self, id: Oid) -> PathBuf {
        let name = id.to_string();
        self.objects_dir().join(&name[..2]).join(&name[2..])
    }

    /// Loose commits from the tip back to the first packed one on each line, and their loose objects.
    fn loose_history(&self) -> Result<LooseHistory> {
        let mut commits = Vec::new();
        let mut objects: Vec<(Oid, String)> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut wanted: Vec<Oid> = self.git.refname_to_id(REF).ok().into_iter().collect();
        while let Some(id) = wanted.pop() {
            if !seen.insert(id) || !self.loose_path(id).exists() {
                continue;
            }
            let commit = self.git.find_commit(id)?;
            let tree = commit.tree()?;
            wanted.extend(commit.parent_ids());
            commits.push(id);
            let entries = tree
                .iter()
                .map(|entry| (entry.id(), String::from_utf8_lossy(entry.name_bytes()).into_owned()));
            for (object, name) in [(id, String::new()), (tree.id(), String::new())].into_iter().chain(entries)
            {
                if object == id || (seen.insert(object) && self.loose_path(object).exists()) {
                    objects.push((object, name));
                }
            }
        }
        Ok(LooseHistory { commits, objects })
    }

    fn write_pack(&self, objects: &[(Oid, String)]) -> Result<()> {
        let mut pack = self.git.packbuilder()?;
        for (object, name) in objects {
            pack.insert_object(*object, Some(name).filter(|name| !name.is_empty()).map(String::as_str))?;
        }
        let odb = self.git.odb()?;
        let mut writer = odb.packwriter()?;
        pack.foreach(|bytes| writer.write_all(bytes).is_ok())?;
        writer.commit()?;
        self.sync_packs()
    }

    /// Makes the names of packs durable; their contents are.
    pub(crate) fn sync_packs(&self) -> Result<()> {
        let directory = self.objects_dir().join("pack");
        match sync_directory(&directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(|source| Error::Io { action: "sync", path: directory, source }),
        }
    }

    /// Moves the loose objects aside, reads every commit back from the pack alone, and only then lets go of them.
    fn trade_loose_for_packed(&self, commits: &[Oid], objects: &[(Oid, String)]) -> Result<()> {
        let aside = self.objects_dir().join(ASIDE);
        let io = |source| Error::Io { action: "move packed objects to", path: aside.clone(), source };
        fs::create_dir_all(&aside).map_err(io)?;
        let mut moved = Vec::new();
        for (object, _) in objects {
            let place = aside.join(object.to_string());
            fs::rename(self.loose_path(*object), &place).map_err(io)?;
            moved.push((*object, place));
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

    /// What a crash left aside goes back to where it was: then it is packed again, or simply found.
    fn remove_leftovers(&self) -> Result<()> {
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
