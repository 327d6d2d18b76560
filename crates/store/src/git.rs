//! The repository through libgit2. No `git` program is needed, and nothing but the sync ref is touched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use beads_core::Snapshot;
use beads_core::snapshot::{CONFLICTS, DEPS, META, STATE, TOMBSTONES};
use git2::{Commit, ErrorCode, ObjectType, Oid, Signature, Tree};

use crate::disk::sync_directory;
use crate::repository::{BRANCH_IN_THE_WAY, CommitId, REF, Repository};
use crate::vet::{Depth, vet};
use crate::{Error, Result, library, loose};

/// Regular file, in a tree entry. A symlink or a submodule in its place is refused.
const FILE_MODE: i32 = 0o100_644;

/// How often objects are written again that git collects as garbage meanwhile.
const MAX_WRITES: usize = 3;

/// Where the sync refs of remotes were last seen.
const TRACKED: &str = "refs/remotes/*/beads/store";

/// A repository on disk.
pub struct GitRepository {
    pub(crate) git: git2::Repository,
}

impl std::fmt::Debug for GitRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("GitRepository").field(&self.git.commondir()).finish()
    }
}

/// Says in our words that a repository is in a format which the library cannot read.
fn unreadable_format(error: git2::Error) -> Error {
    if error.message().contains("object format") {
        return Error::RepositoryFormat("SHA-256 object names");
    }
    if error.message().contains("extensions.refstorage") {
        return Error::RepositoryFormat("the reftable format");
    }
    error.into()
}

impl GitRepository {
    /// Opens the repository whose git directory is `path`, exactly there.
    pub fn open(path: &Path) -> Result<Self> {
        library::set_up();
        Ok(Self { git: git2::Repository::open(path).map_err(unreadable_format)? })
    }

    /// Opens the bare repository of a private store, making it when it is not there.
    pub fn open_or_init_bare(path: &Path) -> Result<Self> {
        library::set_up();
        match git2::Repository::open_bare(path) {
            Ok(git) => Ok(Self { git }),
            Err(error) if error.code() == ErrorCode::NotFound => {
                Ok(Self { git: git2::Repository::init_bare(path)? })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether a commit is here, by its whole name or an abbreviation.
    pub fn has_commit(&self, name: &str) -> bool {
        self.git.revparse_single(name).is_ok_and(|object| object.peel_to_commit().is_ok())
    }

    /// The directory that all worktrees share.
    pub fn common_dir(&self) -> &Path {
        self.git.commondir()
    }

    /// The main work tree, if there is one.
    pub fn work_tree(&self) -> Option<&Path> {
        self.git.workdir()
    }

    /// Whether a file of the main work tree is in the index, so that every change of it would show in `git status`.
    pub fn tracks(&self, path: &Path) -> Result<bool> {
        let Some(work_tree) = self.git.workdir() else { return Ok(false) };
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let root = work_tree.canonicalize().unwrap_or_else(|_| work_tree.to_owned());
        let Ok(inner) = path.strip_prefix(&root) else { return Ok(false) };
        let mut index = self.git.index()?;
        index.read(false)?;
        Ok(index.get_path(inner, 0).is_some())
    }

    /// Whether a branch of the user keeps the sync ref from existing.
    pub fn has_branch_in_the_way(&self) -> bool {
        self.git.refname_to_id(BRANCH_IN_THE_WAY).is_ok()
    }

    fn damaged(commit: &str, reason: impl Into<String>) -> Error {
        Error::RefDamaged { reference: REF, commit: commit.to_owned(), reason: reason.into() }
    }

    /// Refuses an object that is damaged or far too long before the library reads it.
    fn check(&self, commit: &str, id: Oid, kind: ObjectType) -> Result<()> {
        if self.loose(commit, id, kind)?.is_none() {
            self.check_packed(id, kind).map_err(|reason| Self::damaged(commit, reason))?;
        }
        Ok(())
    }

    /// The length of a packed object is known before it is inflated.
    fn check_packed(&self, id: Oid, kind: ObjectType) -> Result<(), String> {
        let header = self.git.odb().and_then(|odb| odb.read_header(id));
        // One that is missing is reported, or brought, by whoever reads it.
        header.map_or(Ok(()), |(length, _)| loose::check_length(length, kind))
    }

    /// The content of a loose object; `None` when it is packed, or missing, which the library finds out.
    pub(crate) fn loose(&self, commit: &str, id: Oid, kind: ObjectType) -> Result<Option<Vec<u8>>> {
        let objects = self.git.commondir().join("objects");
        loose::read(&objects, id, kind).map_err(|reason| Self::damaged(commit, reason))
    }

    pub(crate) fn commit(&self, commit: &str) -> Result<Commit<'_>> {
        let wrong = |error: git2::Error| Self::damaged(commit, error.message());
        let id = Oid::from_str(commit).map_err(wrong)?;
        self.check(commit, id, ObjectType::Commit)?;
        self.git
            .find_commit(id)
            .or_else(|error| self.again(id, error, |id| self.git.find_commit(id)))
            .map_err(wrong)
    }

    pub(crate) fn tree(&self, commit: &str) -> Result<Tree<'_>> {
        let tree = self.commit(commit)?.tree_id();
        self.check(commit, tree, ObjectType::Tree)?;
        let found = self.git.find_tree(tree);
        let found = found.or_else(|error| self.again(tree, error, |id| self.git.find_tree(id)));
        found.map_err(|error| Self::damaged(commit, error.message()))
    }

    /// Looks once more for an object that a partial clone left elsewhere.
    fn again<T>(
        &self,
        id: Oid,
        error: git2::Error,
        find: impl Fn(Oid) -> Result<T, git2::Error>,
    ) -> Result<T, git2::Error> {
        if error.code() == ErrorCode::NotFound && self.bring(id) { find(id) } else { Err(error) }
    }

    /// The content of a blob, or what is wrong with it. It need not be hashed again when it is vouched for.
    pub(crate) fn blob(&self, id: Oid, vouched: impl Fn(&[u8]) -> bool) -> Result<Vec<u8>, String> {
        let objects = self.git.commondir().join("objects");
        match loose::read_vouched(&objects, id, ObjectType::Blob, vouched)? {
            Some(content) => Ok(content),
            None => {
                self.check_packed(id, ObjectType::Blob)?;
                let found = self.git.find_blob(id);
                let found = found.or_else(|error| self.again(id, error, |id| self.git.find_blob(id)));
                let blob = found.map_err(|error| error.message().to_owned())?;
                loose::check_lines(blob.content())?;
                Ok(blob.content().to_vec())
            }
        }
    }

    pub(crate) fn file(&self, commit: &str, tree: &Tree<'_>, name: &str) -> Result<Vec<u8>> {
        self.file_vouched(commit, tree, name, |_| false)
    }

    /// A file whose content need not be hashed again when it is vouched for.
    fn file_vouched(
        &self,
        commit: &str,
        tree: &Tree<'_>,
        name: &str,
        vouched: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<u8>> {
        let entry = tree.get_name(name).ok_or_else(|| Self::damaged(commit, format!("{name} is missing")))?;
        if entry.kind() != Some(ObjectType::Blob) || entry.filemode() != FILE_MODE {
            return Err(Self::damaged(commit, format!("{name} is not a regular file")));
        }
        let content = self.blob(entry.id(), vouched);
        content.map_err(|reason| Self::damaged(commit, format!("{name}: {reason}")))
    }

    fn write_tree(&self, snapshot: &Snapshot) -> Result<(Oid, Vec<Oid>)> {
        let mut builder = self.git.treebuilder(None)?;
        let mut written = Vec::new();
        for (name, bytes) in snapshot.files() {
            let blob = self.git.blob(bytes)?;
            builder.insert(name, blob, FILE_MODE)?;
            written.push(blob);
        }
        Ok((builder.write()?, written))
    }

    fn write_commit(&self, snapshot: &Snapshot, parents: &[CommitId], message: &str) -> Result<Oid> {
        let (tree, mut written) = self.write_tree(snapshot)?;
        let found: Vec<_> = parents
            .iter()
            .map(|parent| self.git.find_commit(Oid::from_str(parent)?))
            .collect::<Result<_, git2::Error>>()?;
        let parents: Vec<_> = found.iter().collect();
        let who = Signature::now("beads", "beads@localhost")?;
        let commit = self.git.commit(None, &who, &who, message, &self.git.find_tree(tree)?, &parents)?;
        written.extend([tree, commit]);
        self.sync_directories_of(&written)?;
        Ok(commit)
    }

    /// The library syncs the files it writes, but not every directory it makes on the way there.
    pub(crate) fn sync_directories_of(&self, objects: &[Oid]) -> Result<()> {
        let root = self.git.commondir().join("objects");
        let fan_out = |object: &Oid| root.join(&object.to_string()[..2]);
        let mut directories: Vec<PathBuf> =
            objects.iter().map(fan_out).filter(|directory| directory.is_dir()).collect();
        directories.push(root);
        directories.sort_unstable();
        directories.dedup();
        sync_all(&directories)
    }
}

/// How old a lock file on the ref must be to count as left behind.
const ABANDONED_LOCK: std::time::Duration = std::time::Duration::from_secs(2);

/// How often refs are synced again that git packed meanwhile.
const MAX_SETTLES: usize = 10;

impl GitRepository {
    /// A loose ref stands in its own file, a packed one in `packed-refs`; what is not there needs no sync.
    fn settle_once(&self) -> Result<()> {
        let root = self.git.commondir();
        let mut names = vec![REF.to_owned()];
        if !root.join(REF).exists() {
            // Without a ref of our own, those of the remotes are what we build on.
            for reference in self.git.references_glob(TRACKED)? {
                names.extend(reference?.name().map(str::to_owned));
            }
        }
        let mut places = BTreeSet::new();
        for name in names {
            let loose = root.join(name);
            if !loose.exists() {
                places.insert(root.join("packed-refs"));
            }
            places.extend(loose.ancestors().take_while(|place| place.starts_with(root)).map(Path::to_owned));
        }
        // The deepest first: a name is worth nothing before what it names.
        sync_all(&places.into_iter().rev().filter(|place| place.exists()).collect::<Vec<_>>())
    }
}

/// Deletes a tracking ref whose name is a directory of ours: `origin/beads` where `origin/beads/store` is to be. A remote that
/// has our ref cannot have such a branch any more, so the tracking ref is out of date.
pub(crate) fn clear_the_way(git: &git2::Repository, tracking_ref: &str) -> Result<(), git2::Error> {
    let Some((in_the_way, _)) = tracking_ref.rsplit_once('/') else { return Ok(()) };
    match git.find_reference(in_the_way) {
        Ok(mut stale) => stale.delete(),
        Err(_) => Ok(()),
    }
}

/// Waits for whoever is moving a ref of the store. A lock file that nobody takes away was left by a process that was
/// killed: git and this program hold such a file for milliseconds.
pub(crate) fn outwait_lock(common_dir: &Path, reference: &str) {
    let lock = common_dir.join(format!("{reference}.lock"));
    while let Ok(metadata) = std::fs::metadata(&lock) {
        let age = metadata.modified().ok().and_then(|time| time.elapsed().ok());
        if age.is_none_or(|age| age > ABANDONED_LOCK) {
            let _ = std::fs::remove_file(&lock);
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

impl Repository for GitRepository {
    fn tip(&self) -> Result<Option<CommitId>> {
        match self.git.refname_to_id(REF) {
            Ok(oid) => Ok(Some(oid.to_string())),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(Self::damaged("?", error.message())),
        }
    }

    fn snapshot(&self, commit: &str) -> Result<Snapshot> {
        let tree = self.tree(commit)?;
        if self.is_earlier(commit)? {
            return Err(Error::EarlierFormat { commit: commit.to_owned(), remote: false });
        }
        let known = [STATE, TOMBSTONES, DEPS, META, CONFLICTS];
        for entry in &tree {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            if !known.contains(&name.as_str()) {
                return Err(Self::damaged(
                    commit,
                    format!("{name:?} is not part of the format; perhaps upgrade bd"),
                ));
            }
        }
        // Its own name is checked, and it holds checksums of the others, better than their names and checked in any case.
        let meta = self.file(commit, &tree, META)?;
        let file = |name: &str| self.file_vouched(commit, &tree, name, |_| Snapshot::is_summed(&meta, name));
        Ok(Snapshot {
            state: file(STATE)?,
            tombstones: file(TOMBSTONES)?,
            deps: file(DEPS)?,
            conflicts: match tree.get_name(CONFLICTS) {
                Some(_) => file(CONFLICTS)?,
                None => Vec::new(),
            },
            meta,
        })
    }

    fn write(&self, snapshot: &Snapshot, parents: &[CommitId], message: &str) -> Result<CommitId> {
        for _ in 0..MAX_WRITES {
            let commit = self.write_commit(snapshot, parents, message)?;
            if self.stage(commit)? {
                return Ok(commit.to_string());
            }
        }
        Err(Self::damaged("?", "git collected its objects as garbage while they were being written"))
    }

    /// The name of the smallest file is compared first: it holds the checksums of the others, so it tells all differences
    /// there may be. Equal names are believed only after reading.
    fn holds(&self, commit: &str, snapshot: &Snapshot) -> Result<bool> {
        let tree = self.tree(commit)?;
        if tree.len() != snapshot.files().len() {
            return Ok(false);
        }
        let hash = Oid::hash_object(ObjectType::Blob, &snapshot.meta)?;
        if tree.get_name(META).is_none_or(|entry| entry.id() != hash) {
            return Ok(false);
        }
        for (name, bytes) in snapshot.files() {
            let same = |content: &[u8]| content == bytes;
            if tree.get_name(name).is_none() || self.file_vouched(commit, &tree, name, same)? != bytes {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Git may pack refs at any moment, and removes their files and directories then: what was to be synced is elsewhere.
    fn settle(&self) -> Result<()> {
        for _ in 0..MAX_SETTLES {
            match self.settle_once() {
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
                done => return done,
            }
        }
        self.settle_once()
    }

    fn vet(&self, theirs: &str, known: &str) -> Result<(), String> {
        let id = |name| Oid::from_str(name).map_err(|error| error.message().to_owned());
        vet(&self.git, id(theirs)?, &[id(known)?], Depth::Files)
    }

    fn is_ancestor(&self, ancestor: &str, commit: &str) -> Result<bool> {
        let (ancestor, commit) = (Oid::from_str(ancestor)?, Oid::from_str(commit)?);
        // In a shallow clone the way there may be cut off; then nothing is known, which is the same as no.
        Ok(ancestor == commit || self.git.graph_descendant_of(commit, ancestor).unwrap_or(false))
    }

    fn merge_base(&self, one: &str, other: &str) -> Result<Option<CommitId>> {
        // Unrelated or cut-off histories have none, and none is needed.
        Ok(self.git.merge_base(Oid::from_str(one)?, Oid::from_str(other)?).ok().map(|oid| oid.to_string()))
    }

    fn tracked(&self) -> Result<Vec<CommitId>> {
        let mut tips = Vec::new();
        for reference in self.git.references_glob(TRACKED)? {
            tips.extend(reference?.target().map(|oid| oid.to_string()));
        }
        tips.sort_unstable();
        tips.dedup();
        Ok(tips)
    }

    fn saved(&self) -> Result<Vec<CommitId>> {
        self.saved_commits()
    }

    fn record_saved(&self, commit: &str) -> Result<()> {
        self.write_saved(commit)
    }

    fn swing(&self, from: Option<&str>, to: &str) -> Result<bool> {
        let to = Oid::from_str(to)?;
        let moved = match from {
            Some(from) => self.git.reference_matching(REF, to, true, Oid::from_str(from)?, "bd checkpoint"),
            None => self.git.reference(REF, to, false, "bd checkpoint"),
        };
        match moved {
            Ok(_) => {}
            Err(_) if self.has_branch_in_the_way() => return Err(Error::BranchInTheWay),
            Err(error) if is_lost_race(&error) => {
                if error.code() == ErrorCode::Locked {
                    outwait_lock(self.git.commondir(), REF);
                }
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        }
        self.settle()?;
        // Read back: what cannot be read again was not written.
        Ok(self.git.refname_to_id(REF)? == to)
    }
}

/// The ref was not where it was expected, or somebody is moving it right now.
pub(crate) fn is_lost_race(error: &git2::Error) -> bool {
    matches!(error.code(), ErrorCode::Modified | ErrorCode::Exists | ErrorCode::Locked | ErrorCode::NotFound)
}

pub(crate) fn sync_all(places: &[PathBuf]) -> Result<()> {
    for path in places {
        sync_directory(path).map_err(|source| Error::Io { action: "sync", path: path.clone(), source })?;
    }
    Ok(())
}
