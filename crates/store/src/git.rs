//! The repository through libgit2. It needs no `git` program and touches no ref but its own.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use beads_core::snapshot::{CONFLICTS, DEPS, META, STATE, TOMBSTONES};
use beads_core::{Encoder, Lineage, Snapshot, State};
use git2::{Commit, ErrorCode, ObjectType, Oid, Signature, Tree};

use crate::disk::sync_directory;
use crate::ref_update::compare_and_swap;
use crate::repository::{ARCHIVE_REF, Branch, CONFLICTING_BRANCH, CommitId, REF, Repository};
use crate::vet::{Depth, vet};
use crate::{Error, RefSync, Result, libgit2, loose};

/// The mode of a regular file in a tree entry. A symlink or submodule in its place is refused.
const FILE_MODE: i32 = 0o100_644;

/// How often objects are written again if git collects them as garbage in the meantime.
const MAX_WRITES: usize = 3;

/// Matches the tracking refs of the sync ref on all remotes.
const TRACKED: &str = "refs/remotes/*/beads/store";

/// A git repository on disk.
pub struct GitRepository {
    pub(crate) git: git2::Repository,
}

impl std::fmt::Debug for GitRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("GitRepository").field(&self.git.commondir()).finish()
    }
}

/// Turns libgit2's error about an unsupported repository format into our own.
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
    /// Opens the repository whose git directory is exactly `path`.
    pub fn open(path: &Path) -> Result<Self> {
        libgit2::set_up();
        Ok(Self { git: git2::Repository::open(path).map_err(unreadable_format)? })
    }

    /// Opens the bare repository of a private store, and creates it if it does not exist.
    pub fn open_or_init_bare(path: &Path) -> Result<Self> {
        libgit2::set_up();
        match git2::Repository::open_bare(path) {
            Ok(git) => Ok(Self { git }),
            Err(error) if error.code() == ErrorCode::NotFound => {
                Ok(Self { git: git2::Repository::init_bare(path)? })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether a commit exists here, by its full or abbreviated name.
    pub fn has_commit(&self, name: &str) -> bool {
        self.git.revparse_single(name).is_ok_and(|object| object.peel_to_commit().is_ok())
    }

    /// Returns the git directory that all work trees share.
    pub fn common_dir(&self) -> &Path {
        self.git.commondir()
    }

    /// Returns the main work tree, if there is one.
    pub fn work_tree(&self) -> Option<&Path> {
        self.git.workdir()
    }

    /// Returns whether a file of the main work tree is in the index, so that `git status` would show changes
    /// to it.
    pub fn tracks(&self, path: &Path) -> Result<bool> {
        let Some(work_tree) = self.git.workdir() else { return Ok(false) };
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let root = work_tree.canonicalize().unwrap_or_else(|_| work_tree.to_owned());
        let Ok(inner) = path.strip_prefix(&root) else { return Ok(false) };
        // The index holds no other names, and git2 panics when it is asked for one.
        let is_plain = inner.components().all(|part| matches!(part, Component::Normal(_)));
        let name = inner.as_os_str().as_encoded_bytes();
        if !is_plain || name.is_empty() || name.contains(&0) {
            return Ok(false);
        }
        let mut index = self.git.index()?;
        index.read(false)?;
        Ok(index.get_path(inner, 0).is_some())
    }

    /// Returns whether a user's branch prevents the sync ref from existing.
    pub fn has_conflicting_branch(&self) -> bool {
        self.git.refname_to_id(CONFLICTING_BRANCH).is_ok()
    }

    fn damaged(commit: &str, reason: impl Into<String>) -> Error {
        Error::RefDamaged { reference: REF, commit: commit.to_owned(), reason: reason.into() }
    }

    /// Refuses an object that is damaged or far too long, before libgit2 reads it.
    fn check(&self, commit: &str, id: Oid, kind: ObjectType) -> Result<()> {
        if self.loose(commit, id, kind)?.is_none() {
            self.check_packed(id, kind).map_err(|reason| Self::damaged(commit, reason))?;
        }
        Ok(())
    }

    /// Refuses a packed object that is far too long. Its length is known before it is inflated.
    fn check_packed(&self, id: Oid, kind: ObjectType) -> Result<(), String> {
        let header = self.git.odb().and_then(|odb| odb.read_header(id));
        // A missing object is reported, or fetched in a partial clone, by the code that reads it.
        header.map_or(Ok(()), |(length, _)| loose::check_length(length, kind))
    }

    /// Returns the content of a loose object, or `None` if it is packed or missing, which libgit2 finds out.
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
            .or_else(|error| self.retry_with_fetch(id, error, |id| self.git.find_commit(id)))
            .map_err(wrong)
    }

    pub(crate) fn tree(&self, commit: &str) -> Result<Tree<'_>> {
        let tree = self.commit(commit)?.tree_id();
        self.check(commit, tree, ObjectType::Tree)?;
        let found = self.git.find_tree(tree);
        let found = found.or_else(|error| self.retry_with_fetch(tree, error, |id| self.git.find_tree(id)));
        found.map_err(|error| Self::damaged(commit, error.message()))
    }

    /// Retries a lookup after fetching an object that a partial clone left on its remote.
    fn retry_with_fetch<T>(
        &self,
        id: Oid,
        error: git2::Error,
        find: impl Fn(Oid) -> Result<T, git2::Error>,
    ) -> Result<T, git2::Error> {
        if error.code() == ErrorCode::NotFound && self.fetch_missing_object(id) {
            find(id)
        } else {
            Err(error)
        }
    }

    /// Returns the content of a blob, or what is wrong with it. Skips the hash if `vouched` accepts the
    /// content.
    pub(crate) fn blob(&self, id: Oid, vouched: impl Fn(&[u8]) -> bool) -> Result<Vec<u8>, String> {
        let objects = self.git.commondir().join("objects");
        match loose::read_vouched(&objects, id, ObjectType::Blob, vouched)? {
            Some(content) => Ok(content),
            None => {
                self.check_packed(id, ObjectType::Blob)?;
                let found = self.git.find_blob(id);
                let found =
                    found.or_else(|error| self.retry_with_fetch(id, error, |id| self.git.find_blob(id)));
                let blob = found.map_err(|error| error.message().to_owned())?;
                loose::check_lines(blob.content())?;
                Ok(blob.content().to_vec())
            }
        }
    }

    pub(crate) fn file(&self, commit: &str, tree: &Tree<'_>, name: &str) -> Result<Vec<u8>> {
        self.file_vouched(commit, tree, name, |_| false)
    }

    /// Returns a file of a tree. Skips the hash if `vouched` accepts the content.
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

    /// Syncs the directories of objects. libgit2 syncs the files it writes, but not every directory it
    /// creates.
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

/// A lock file on the ref that is older than this was left behind by a killed process.
const ABANDONED_LOCK: std::time::Duration = std::time::Duration::from_secs(2);

/// How often syncing a ref is retried if git packs refs at the same time.
const MAX_REF_SYNCS: usize = 10;

impl GitRepository {
    /// Syncs the file of a loose ref, or `packed-refs` for a packed one, and all directories above.
    fn sync_ref_once(&self, reference: &str) -> Result<()> {
        let root = self.git.commondir();
        let mut names = vec![reference.to_owned()];
        if reference == REF && !root.join(REF).exists() {
            // Without a local ref, the store builds on the remotes' refs.
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
        // The deepest first: an entry is useless before the file it names is durable.
        sync_all(&places.into_iter().rev().filter(|place| place.exists()).collect::<Vec<_>>())
    }
}

impl GitRepository {
    fn tip_of(&self, reference: &str) -> Result<Option<CommitId>> {
        match self.git.refname_to_id(reference) {
            Ok(oid) => Ok(Some(oid.to_string())),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(Self::damaged("?", error.message())),
        }
    }

    /// Syncs a ref. Git may pack refs at any time and then deletes their files, so this retries.
    fn sync_ref_of(&self, reference: &str) -> Result<()> {
        for _ in 0..MAX_REF_SYNCS {
            match self.sync_ref_once(reference) {
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
                done => return done,
            }
        }
        self.sync_ref_once(reference)
    }

    fn swap_ref(&self, reference: &str, from: Option<&str>, to: &str) -> Result<bool> {
        let to = Oid::from_str(to)?;
        let from = from.map(Oid::from_str).transpose()?;
        match compare_and_swap(&self.git, reference, from, to, "bd checkpoint") {
            Ok(()) => {}
            Err(_) if self.has_conflicting_branch() => return Err(Error::ConflictingBranch),
            Err(error) if is_lost_race(&error) => {
                if error.code() == ErrorCode::Locked {
                    wait_for_ref_lock(self.git.commondir(), reference);
                }
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        }
        self.sync_ref_of(reference)?;
        // Read the ref back to be sure that it was written.
        Ok(self.git.refname_to_id(reference)? == to)
    }
}

/// Deletes a tracking ref whose name is a directory of ours: `origin/beads` where `origin/beads/store` must
/// go. A remote that has our ref can no longer have that branch, so the tracking ref is out of date.
pub(crate) fn delete_conflicting_tracking_ref(
    git: &git2::Repository,
    tracking_ref: &str,
) -> Result<(), git2::Error> {
    let Some((in_the_way, _)) = tracking_ref.rsplit_once('/') else { return Ok(()) };
    match git.find_reference(in_the_way) {
        Ok(mut stale) => stale.delete(),
        Err(_) => Ok(()),
    }
}

/// Waits for the process that is moving a ref of the store. Git and this program hold a ref's lock file for
/// milliseconds; one that stays was left by a killed process and is removed.
pub(crate) fn wait_for_ref_lock(common_dir: &Path, reference: &str) {
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
        self.tip_of(REF)
    }

    fn archive_tip(&self) -> Result<Option<CommitId>> {
        self.tip_of(ARCHIVE_REF)
    }

    fn tracked_archive(&self, remote: &str) -> Result<Option<CommitId>> {
        self.tip_of(&Branch::Archive.tracking_ref(remote))
    }

    fn unhealed(&self) -> Result<BTreeSet<Lineage>> {
        self.read_unhealed()
    }

    fn record_unhealed(&self, beads: &BTreeSet<Lineage>) -> Result<()> {
        self.write_unhealed(beads)
    }

    fn compare_and_swap_archive(&self, from: Option<&str>, to: &str) -> Result<bool> {
        self.swap_ref(ARCHIVE_REF, from, to)
    }

    fn snapshot(&self, commit: &str) -> Result<Snapshot> {
        let tree = self.tree(commit)?;
        if self.is_legacy(commit)? {
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
        // meta.json is verified by its hash. It holds stronger checksums of the other files, which decoding
        // verifies in any case, so those need no hash here.
        let meta = self.file(commit, &tree, META)?;
        let file =
            |name: &str| self.file_vouched(commit, &tree, name, |_| Snapshot::has_checksum(&meta, name));
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

    fn cached_state(&self, commit: &str) -> Option<State> {
        self.read_state_cache(commit)
    }

    fn cache_state(&self, commit: &str, encoder: &Encoder) {
        self.write_state_cache(commit, encoder);
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

    /// Compares meta.json by hash first: it is the smallest file and holds the checksums of the others. If it
    /// matches, the contents are read and compared as well.
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

    fn sync_ref(&self) -> Result<()> {
        self.sync_ref_of(REF)
    }

    fn sync_ref_later(&self) -> RefSync {
        let git_dir = self.git.path().to_owned();
        RefSync::pending(move || Self::open(&git_dir)?.sync_ref())
    }

    fn vet(&self, theirs: &str, known: &str) -> Result<(), String> {
        let id = |name| Oid::from_str(name).map_err(|error| error.message().to_owned());
        vet(&self.git, id(theirs)?, &[id(known)?], Depth::Files)
    }

    fn is_ancestor(&self, ancestor: &str, commit: &str) -> Result<bool> {
        let (ancestor, commit) = (Oid::from_str(ancestor)?, Oid::from_str(commit)?);
        // In a shallow clone the history may be cut off. Unknown ancestry counts as no.
        Ok(ancestor == commit || self.git.graph_descendant_of(commit, ancestor).unwrap_or(false))
    }

    fn merge_base(&self, one: &str, other: &str) -> Result<Option<CommitId>> {
        // Unrelated or cut-off histories have no merge base, and need none.
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

    fn compare_and_swap_ref(&self, from: Option<&str>, to: &str) -> Result<bool> {
        self.swap_ref(REF, from, to)
    }
}

/// Returns whether a ref was not where it was expected, or another process is moving it now.
pub(crate) fn is_lost_race(error: &git2::Error) -> bool {
    matches!(error.code(), ErrorCode::Modified | ErrorCode::Exists | ErrorCode::Locked | ErrorCode::NotFound)
}

pub(crate) fn sync_all(places: &[PathBuf]) -> Result<()> {
    for path in places {
        sync_directory(path).map_err(|source| Error::Io { action: "sync", path: path.clone(), source })?;
    }
    Ok(())
}
