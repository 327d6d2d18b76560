//! Tells whether a store is still the one that was opened. A repository can be deleted, moved, cloned again or restored
//! from a backup under a running daemon, and its path then names another store.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The git directory and the lock file, held open: a pinned inode number is not used again. The journal's segment is
/// known by its size and time as well, because a backup that is restored in place keeps inodes.
#[derive(Debug)]
pub struct Identity {
    pinned: Vec<Pinned>,
    segment: Mutex<Option<Segment>>,
}

/// What became of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is the one that was opened.
    Same,
    /// Somebody else wrote to the journal. Its content tells whether that matters.
    Touched,
    /// It is elsewhere now, whole, and nothing is at its path.
    Moved,
    /// It is deleted, or another one is at its path.
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
    /// Pins what is at these paths now.
    pub fn of(paths: &[&Path]) -> io::Result<Self> {
        let pin = |path: &&Path| Ok(Pinned { path: path.to_path_buf(), file: File::open(path)? });
        let mut pinned = paths.iter().map(pin).collect::<io::Result<Vec<_>>>()?;
        // Where inode numbers are not stable nothing can be said by them.
        pinned.retain(|one| one.fate().is_ok_and(|fate| fate == Fate::Same));
        Ok(Self { pinned, segment: Mutex::default() })
    }

    /// Takes note of the journal's segment after it was opened or written here.
    pub fn note(&self, path: &Path, metadata: &Metadata) {
        let mut segment = self.segment.lock().unwrap_or_else(PoisonError::into_inner);
        *segment = Some(Segment::new(path, metadata));
    }

    /// After a write that failed nobody knows what the segment holds; opening the store again tells.
    pub fn forget(&self) {
        *self.segment.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Takes the journal's segment as it is now for ours.
    pub fn accept(&self) {
        let mut segment = self.segment.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &mut *segment
            && let Ok(metadata) = std::fs::metadata(&known.path)
        {
            *known = Segment::new(&known.path, &metadata);
        }
    }

    /// Compares everything with what is at the paths now.
    pub fn check(&self) -> Fate {
        for pinned in &self.pinned {
            match pinned.fate() {
                Ok(Fate::Same) => {}
                Ok(fate) => return fate,
                // A path that cannot be looked at now, perhaps for lack of memory, proves nothing.
                Err(_) => return Fate::Same,
            }
        }
        let segment = self.segment.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = &*segment else { return Fate::Same };
        match std::fs::metadata(&known.path) {
            Ok(metadata) if *known == Segment::new(&known.path, &metadata) => Fate::Same,
            Ok(_) => Fate::Touched,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Fate::Replaced,
            Err(_) => Fate::Same,
        }
    }
}

impl Pinned {
    fn fate(&self) -> io::Result<Fate> {
        let ours = self.file.metadata()?;
        match std::fs::metadata(&self.path) {
            Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => Ok(Fate::Same),
            Ok(_) => Ok(Fate::Replaced),
            Err(error) if is_missing(&error) && ours.nlink() > 0 => Ok(Fate::Moved),
            Err(error) if is_missing(&error) => Ok(Fate::Replaced),
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
    #![allow(clippy::unwrap_used)] // failing is a test's job

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
            assert_eq!(identity.check(), Fate::Same);
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
    fn a_deleted_store_and_one_that_is_made_anew_are_replaced() {
        let store = Store::new();
        std::fs::remove_dir_all(store.git()).unwrap();
        assert_eq!(store.identity.check(), Fate::Replaced);
        make(&store.git(), "ours");
        assert_eq!(store.identity.check(), Fate::Replaced);
    }

    #[test]
    fn a_store_whose_local_files_are_deleted_is_replaced() {
        let store = Store::new();
        std::fs::remove_dir_all(store.git().join("beads")).unwrap();
        assert_eq!(store.identity.check(), Fate::Replaced);
    }

    #[test]
    fn a_moved_store_is_moved_until_another_is_at_its_path() {
        let store = Store::new();
        let elsewhere = store.root.path().join("elsewhere");
        std::fs::rename(store.git(), &elsewhere).unwrap();
        assert_eq!(store.identity.check(), Fate::Moved);
        make(&store.git(), "ours");
        assert_eq!(store.identity.check(), Fate::Replaced);
        std::fs::remove_dir_all(store.git()).unwrap();
        std::fs::rename(&elsewhere, store.git()).unwrap();
        assert_eq!(store.identity.check(), Fate::Same, "it came back");
    }

    #[test]
    fn a_journal_that_others_write_in_place_is_touched_until_noted() {
        let store = Store::new();
        let segment = store.git().join("beads/journal");
        let file = File::options().write(true).open(&segment).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(store.identity.check(), Fate::Touched);
        store.identity.note(&segment, &file.metadata().unwrap());
        assert_eq!(store.identity.check(), Fate::Same);
        file.set_len(1).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(store.identity.check(), Fate::Touched, "by its size");
        std::fs::remove_file(&segment).unwrap();
        assert_eq!(store.identity.check(), Fate::Replaced);
    }
}
