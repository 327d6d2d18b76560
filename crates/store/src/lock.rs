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
        Self::take_unless(path, patience, || false)?.ok_or_else(|| busy(path, patience))
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
                return Err(busy(path, patience));
            }
            std::thread::sleep(wait);
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}

fn busy(path: &Path, patience: Duration) -> Error {
    let waited_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
    Error::Busy { path: path.to_owned(), waited_ms }
}
