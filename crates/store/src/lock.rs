//! The kernel's file lock on a store. Whoever holds it is the authority; the kernel releases it when the holder dies,
//! however it dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::{Error, Result};

/// The first wait for a lock that is taken, and the longest: commands hold it for a few milliseconds.
const SHORTEST_WAIT: Duration = Duration::from_micros(200);
const LONGEST_WAIT: Duration = Duration::from_millis(5);

/// Held as long as this lives.
#[derive(Debug)]
pub struct StoreLock {
    _file: File,
}

impl StoreLock {
    /// Takes the lock, or says at once that somebody else has it.
    pub fn try_take(path: &Path) -> Result<Option<Self>> {
        let io = |action, source| Error::Io { action, path: path.to_owned(), source };
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(|source| io("make the directory of", source))?;
        }
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|source| io("open", source))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(io("lock", source)),
        }
    }

    /// Takes the lock, waiting for it if need be.
    pub fn take(path: &Path, patience: Duration) -> Result<Self> {
        let start = Instant::now();
        let mut wait = SHORTEST_WAIT;
        loop {
            if let Some(lock) = Self::try_take(path)? {
                return Ok(lock);
            }
            if start.elapsed() >= patience {
                let waited_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
                return Err(Error::Busy { path: path.to_owned(), waited_ms });
            }
            std::thread::sleep(wait);
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}
