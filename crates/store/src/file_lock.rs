//! The kernel's file lock. The kernel releases it when the holder dies, for whatever reason. All file locks
//! in this project go through this module.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::not_regular;

/// Opens a file to lock it, and creates it if it does not exist. Does not follow links. Refuses a pipe,
/// because opening one may never return.
pub fn open_to_lock(path: &Path, mode: u32) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(mode).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Locks a file for as long as it stays open. Returns false if another process holds the lock.
pub fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Locks a file, waiting up to `patience`. The kernel wakes waiting processes one at a time, in order.
/// Returns `None` if the lock was not free in time.
pub fn lock_within(file: File, patience: Duration) -> io::Result<Option<File>> {
    if try_lock(&file)? {
        return Ok(Some(file));
    }
    // The kernel waits indefinitely, so a thread waits and this function gives up on it.
    let (done, waiting) = mpsc::channel();
    std::thread::spawn(move || drop(done.send(file.lock().map(|()| file))));
    waiting.recv_timeout(patience).ok().transpose()
}

/// Returns whether a process holds the lock on a file. Takes no lock itself.
pub fn is_locked(file: &File) -> io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failing test may panic

    use super::*;

    #[test]
    fn a_lock_has_one_holder_and_is_released_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let [first, second, looking] = [0; 3].map(|_| open_to_lock(&path, 0o600).unwrap());
        assert!(!is_locked(&looking).unwrap());
        assert!(try_lock(&first).unwrap(), "is_locked takes no lock");
        assert!(is_locked(&looking).unwrap());
        assert!(!try_lock(&second).unwrap());
        assert!(lock_within(second, Duration::from_millis(1)).unwrap().is_none());
        drop(first);
        let third = open_to_lock(&path, 0o600).unwrap();
        assert!(lock_within(third, Duration::from_secs(60)).unwrap().is_some());
    }

    #[test]
    fn a_link_is_not_a_lock_file() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| dir.path().join(name));
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(open_to_lock(&link, 0o600).is_err());
    }
}
