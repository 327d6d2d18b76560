//! The kernel's file lock on a store. The lock holder is the authority; the kernel releases the lock when the holder
//! dies, however it dies.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::file_lock::{is_locked, open_to_lock, try_lock};
use crate::wall::{RealWorld, World};
use crate::{Error, Result};

/// The first wait for a lock that is taken, and the longest: commands hold it for a few milliseconds.
const SHORTEST_WAIT: Duration = Duration::from_micros(200);
const LONGEST_WAIT: Duration = Duration::from_millis(5);

/// The record of a lock holder is one short line; anything longer is not one.
const MAX_HOLDER_BYTES: usize = 8 * 1024;

/// Held as long as this lives.
#[derive(Debug)]
pub struct StoreLock {
    file: File,
}

/// Who holds a lock, as its holder wrote it into the lock file. Means nothing once the lock is free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub user: String,
    pub since_ms: u64,
    /// Where the holder answers requests; absent for a command that does its own work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
}

impl Holder {
    /// This process.
    pub fn ours(socket: Option<&Path>) -> Self {
        let name = ["USER", "LOGNAME"]
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
        Self {
            pid: std::process::id(),
            user: name.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw())),
            since_ms: RealWorld.now_ms(),
            // A path that JSON cannot express is left out: nobody could ask there.
            socket: socket.filter(|path| path.to_str().is_some()).map(Path::to_owned),
        }
    }

    /// The record in a lock file, if there is one. Older programs left the file empty.
    pub fn read(path: &Path) -> Option<Self> {
        let bytes = std::fs::read(path).ok().filter(|bytes| bytes.len() <= MAX_HOLDER_BYTES)?;
        serde_json::from_slice(bytes.split(|byte| *byte == b'\n').next()?).ok()
    }
}

impl StoreLock {
    /// Takes the lock, or says at once that another process has it.
    pub fn try_take(path: &Path) -> Result<Option<Self>> {
        let io = |action, source| Error::Io { action, path: path.to_owned(), source };
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(|source| io("make the directory of", source))?;
        }
        let file = open_to_lock(path, 0o666).map_err(|source| io("open", source))?;
        match try_lock(&file) {
            Ok(true) => {
                let lock = Self { file };
                lock.record(&Holder::ours(None));
                Ok(Some(lock))
            }
            Ok(false) => Ok(None),
            Err(source) => Err(io("lock", source)),
        }
    }

    /// Writes who holds the lock into its file, in place: a file put there by rename could be locked by another process.
    /// Informational, so a full disk does not matter.
    pub fn record(&self, holder: &Holder) {
        let Ok(mut line) = serde_json::to_vec(holder) else { return };
        line.push(b'\n');
        let written = self.file.write_all_at(&line, 0);
        let _ = written.and_then(|()| self.file.set_len(line.len() as u64));
    }

    /// Whether some process holds the lock now. Takes nothing and creates nothing.
    pub fn is_taken(path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return false };
        is_locked(&file).unwrap_or(false)
    }

    /// Takes the lock, waiting for it if need be. Unlike [`lock_within`](crate::lock_within) it looks again and again, because the wait may
    /// become pointless.
    pub fn take(path: &Path, patience: Duration) -> Result<Self> {
        Self::take_unless(path, patience, || false)?.ok_or_else(|| Error::busy(path, patience))
    }

    /// The same, but stops waiting, without the lock, as soon as there is no point in it.
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
    #![allow(clippy::unwrap_used)] // failing is a test's job

    use super::*;

    #[test]
    fn the_lock_file_names_its_holder_and_keeps_its_inode() {
        use std::os::unix::fs::MetadataExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        assert!(!StoreLock::is_taken(&path) && !path.exists(), "looking creates nothing");
        std::fs::write(&path, "x".repeat(5_000)).unwrap();
        let inode = std::fs::metadata(&path).unwrap().ino();
        let lock = StoreLock::try_take(&path).unwrap().unwrap();
        assert!(StoreLock::is_taken(&path));
        assert!(StoreLock::try_take(&path).unwrap().is_none());
        assert_eq!(Holder::read(&path).unwrap().pid, std::process::id());
        let holder = Holder::ours(Some(Path::new("/run/x.sock")));
        lock.record(&holder);
        assert_eq!(Holder::read(&path), Some(holder));
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode);
        drop(lock);
        assert!(!StoreLock::is_taken(&path));
        std::fs::write(&path, "").unwrap();
        assert_eq!(Holder::read(&path), None);
    }
}
