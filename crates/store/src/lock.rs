//! The kernel's file lock on a store. Only the lock holder may write. The kernel releases the lock when the
//! holder dies, for whatever reason.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::file_lock::{is_locked, open_to_lock, try_lock};
use crate::world::{RealWorld, World};
use crate::{Error, Result};

/// The first and the longest wait for a lock. Commands hold it for a few milliseconds.
const SHORTEST_WAIT: Duration = Duration::from_micros(200);
const LONGEST_WAIT: Duration = Duration::from_millis(5);

/// The size limit of a lock holder's record, which is one short line.
const MAX_HOLDER_BYTES: usize = 8 * 1024;

/// The lock on a store. Dropping it releases the lock.
#[derive(Debug)]
pub struct StoreLock {
    file: File,
}

/// The lock holder, as recorded in the lock file. Meaningless once the lock is free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process id.
    pub pid: u32,
    /// The user name.
    pub user: String,
    /// Since when it holds the lock, in milliseconds since 1970.
    pub since_ms: u64,
    /// The socket on which a daemon listens; absent for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
}

impl Holder {
    /// Returns the record of this process.
    pub fn this_process(socket: Option<&Path>) -> Self {
        let name = ["USER", "LOGNAME"]
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
        Self {
            pid: std::process::id(),
            user: name.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw())),
            since_ms: RealWorld.now_ms(),
            // A path that JSON cannot express is left out, because no client could use it.
            socket: socket.filter(|path| path.to_str().is_some()).map(Path::to_owned),
        }
    }

    /// Reads the record in a lock file, if there is one. Older programs left the file empty.
    pub fn read(path: &Path) -> Option<Self> {
        let bytes = std::fs::read(path).ok().filter(|bytes| bytes.len() <= MAX_HOLDER_BYTES)?;
        serde_json::from_slice(bytes.split(|byte| *byte == b'\n').next()?).ok()
    }
}

impl StoreLock {
    /// Takes the lock, or returns `None` if another process holds it.
    pub fn try_take(path: &Path) -> Result<Option<Self>> {
        let io = |action, source| Error::Io { action, path: path.to_owned(), source };
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(|source| io("make the directory of", source))?;
        }
        let file = open_to_lock(path, 0o666).map_err(|source| io("open", source))?;
        match try_lock(&file) {
            Ok(true) => {
                let lock = Self { file };
                lock.record(&Holder::this_process(None));
                Ok(Some(lock))
            }
            Ok(false) => Ok(None),
            Err(source) => Err(io("lock", source)),
        }
    }

    /// Records the holder in the lock file, in place: another process could lock a file put there by rename.
    ///
    /// The record is informational, so errors such as a full disk are ignored.
    pub fn record(&self, holder: &Holder) {
        let Ok(mut line) = serde_json::to_vec(holder) else { return };
        line.push(b'\n');
        let written = self.file.write_all_at(&line, 0);
        let _ = written.and_then(|()| self.file.set_len(line.len() as u64));
    }

    /// Returns whether a process holds the lock. Takes no lock and creates no file.
    pub fn is_taken(path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return false };
        is_locked(&file).unwrap_or(false)
    }

    /// Takes the lock, waiting up to `patience`. Unlike [`lock_within`](crate::lock_within) it polls, so that
    /// [`take_unless`](Self::take_unless) can stop early.
    pub fn take(path: &Path, patience: Duration) -> Result<Self> {
        Self::take_unless(path, patience, || false)?.ok_or_else(|| Error::busy(path, patience))
    }

    /// Like [`take`](Self::take), but returns `None` as soon as `is_pointless` returns true.
    pub fn take_unless(
        path: &Path,
        patience: Duration,
        is_pointless: impl Fn() -> bool,
    ) -> Result<Option<Self>> {
        let start = Instant::now();
        let mut wait = SHORTEST_WAIT;
        loop {
            if let Some(lock) = Self::try_take(path)? {
                return Ok(Some(lock));
            }
            if is_pointless() {
                return Ok(None);
            }
            if start.elapsed() >= patience {
                return Err(Error::busy(path, patience));
            }
            std::thread::sleep(wait.min(patience.saturating_sub(start.elapsed())));
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failing test may panic

    use super::*;

    #[test]
    fn the_lock_file_names_its_holder_and_keeps_its_inode() {
        use std::os::unix::fs::MetadataExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        assert!(!StoreLock::is_taken(&path) && !path.exists(), "is_taken creates no file");
        std::fs::write(&path, "x".repeat(5_000)).unwrap();
        let inode = std::fs::metadata(&path).unwrap().ino();
        let lock = StoreLock::try_take(&path).unwrap().unwrap();
        assert!(StoreLock::is_taken(&path));
        assert!(StoreLock::try_take(&path).unwrap().is_none());
        assert_eq!(Holder::read(&path).unwrap().pid, std::process::id());
        let holder = Holder::this_process(Some(Path::new("/run/x.sock")));
        lock.record(&holder);
        assert_eq!(Holder::read(&path), Some(holder));
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode);
        drop(lock);
        assert!(!StoreLock::is_taken(&path));
        std::fs::write(&path, "").unwrap();
        assert_eq!(Holder::read(&path), None);
    }
}
