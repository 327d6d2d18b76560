//! Detects whether a store is still the one that was opened. A repository can be deleted, moved, cloned again
//! or restored from a backup while a daemon runs; its path then leads to another store.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The identity of a store: its git directory and lock file.
///
/// Both are held open, so that their inode numbers are not reused. The journal's segment is also compared by
/// size and time, because a backup that is restored in place keeps the inodes.
#[derive(Debug)]
pub struct Identity {
    pinned: Vec<Pinned>,
    segment: Mutex<Option<Segment>>,
}

/// What happened to a store since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreChange {
    /// It is the same.
    Unchanged,
    /// Another program wrote to the journal. Its content shows whether that matters.
    Touched,
    /// It was moved as a whole, and nothing is at its path.
    Moved,
    /// It was deleted, or another store is at its path.
    Replaced,
}

#[derive(Debug)]
struct Pinned {
    path: PathBuf,
    file: File,
}

#[derive(Debug, PartialEq, Eq)]
struct Segment {
    path: PathBuf,
    /// Device, inode and size.
    file: (u64, u64, u64),
    /// Seconds and nanoseconds of the last write.
    modified: (i64, i64),
}

impl Identity {
    /// Pins the files at these paths.
    pub fn of(paths: &[&Path]) -> io::Result<Self> {
        let pin = |path: &&Path| Ok(Pinned { path: path.to_path_buf(), file: File::open(path)? });
        let mut pinned = paths.iter().map(pin).collect::<io::Result<Vec<_>>>()?;
        // File systems without stable inode numbers cannot be checked this way.
        pinned.retain(|one| one.change().is_ok_and(|change| change == StoreChange::Unchanged));
        Ok(Self { pinned, segment: Mutex::default() })
    }

    /// Remembers the journal's segment after this process opened or wrote it.
    pub fn note(&self, path: &Path, metadata: &Metadata) {
        let mut segment = self.segment.lock().unwrap_or_else(PoisonError::into_inner);
        *segment = Some(Segment::new(path, metadata));
    }

    /// Forgets the segment. After a failed write its content is unknown until the store is opened again.
    pub fn forget(&self) {
        *self.segment.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Accepts the journal's segment as it is now.
    pub fn accept(&self) {
        let mut segment = self.segment.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &mut *segment
            && let Ok(metadata) = std::fs::metadata(&known.path)
        {
            *known = Segment::new(&known.path, &metadata);
        }
    }

    /// Compares the pinned files and the segment with what is at their paths now.
    pub fn check(&self) -> StoreChange {
        for pinned in &self.pinned {
            match pinned.change() {
                Ok(StoreChange::Unchanged) => {}
                Ok(change) => return change,
                // A path that cannot be examined now, perhaps for lack of memory, proves nothing.
                Err(_) => return StoreChange::Unchanged,
            }
        }
        let segment = self.segment.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = &*segment else { return StoreChange::Unchanged };
        match std::fs::metadata(&known.path) {
            Ok(metadata) if *known == Segment::new(&known.path, &metadata) => StoreChange::Unchanged,
            Ok(_) => StoreChange::Touched,
            Err(error) if error.kind() == io::ErrorKind::NotFound => StoreChange::Replaced,
            Err(_) => StoreChange::Unchanged,
        }
    }
}

impl Pinned {
    fn change(&self) -> io::Result<StoreChange> {
        let ours = self.file.metadata()?;
        match std::fs::metadata(&self.path) {
            Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => Ok(StoreChange::Unchanged),
            Ok(_) => Ok(StoreChange::Replaced),
            Err(error) if is_missing(&error) && ours.nlink() > 0 => Ok(StoreChange::Moved),
            Err(error) if is_missing(&error) => Ok(StoreChange::Replaced),
            Err(error) => Err(error),
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl Segment {
    fn new(path: &Path, metadata: &Metadata) -> Self {
        Self {
            path: path.to_owned(),
            file: (metadata.dev(), metadata.ino(), metadata.len()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failing test may panic

    use super::*;

    struct Store {
        root: tempfile::TempDir,
        identity: Identity,
    }

    impl Store {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            make(&root.path().join("git"), "ours");
            let git = root.path().join("git");
            let identity = Identity::of(&[&git, &git.join("beads/lock")]).unwrap();
            let segment = git.join("beads/journal");
            identity.note(&segment, &std::fs::metadata(&segment).unwrap());
            assert_eq!(identity.check(), StoreChange::Unchanged);
            Self { root, identity }
        }

        fn git(&self) -> PathBuf {
            self.root.path().join("git")
        }
    }

    fn make(git: &Path, journal: &str) {
        std::fs::create_dir_all(git.join("beads")).unwrap();
        std::fs::write(git.join("beads/lock"), "").unwrap();
        std::fs::write(git.join("beads/journal"), journal).unwrap();
    }

    #[test]
    fn a_deleted_or_recreated_store_is_replaced() {
        let store = Store::new();
        std::fs::remove_dir_all(store.git()).unwrap();
        assert_eq!(store.identity.check(), StoreChange::Replaced);
        make(&store.git(), "ours");
        assert_eq!(store.identity.check(), StoreChange::Replaced);
    }

    #[test]
    fn a_store_whose_local_files_are_deleted_is_replaced() {
        let store = Store::new();
        std::fs::remove_dir_all(store.git().join("beads")).unwrap();
        assert_eq!(store.identity.check(), StoreChange::Replaced);
    }

    #[test]
    fn a_store_is_moved_until_another_is_at_its_path() {
        let store = Store::new();
        let elsewhere = store.root.path().join("elsewhere");
        std::fs::rename(store.git(), &elsewhere).unwrap();
        assert_eq!(store.identity.check(), StoreChange::Moved);
        make(&store.git(), "ours");
        assert_eq!(store.identity.check(), StoreChange::Replaced);
        std::fs::remove_dir_all(store.git()).unwrap();
        std::fs::rename(&elsewhere, store.git()).unwrap();
        assert_eq!(store.identity.check(), StoreChange::Unchanged, "it came back");
    }

    #[test]
    fn a_journal_that_another_program_wrote_is_touched_until_noted() {
        let store = Store::new();
        let segment = store.git().join("beads/journal");
        let file = File::options().write(true).open(&segment).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(store.identity.check(), StoreChange::Touched);
        store.identity.note(&segment, &file.metadata().unwrap());
        assert_eq!(store.identity.check(), StoreChange::Unchanged);
        file.set_len(1).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(store.identity.check(), StoreChange::Touched, "by its size");
        std::fs::remove_file(&segment).unwrap();
        assert_eq!(store.identity.check(), StoreChange::Replaced);
    }
}
