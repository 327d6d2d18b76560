//! A file that a process keeps locked while its session lasts. The kernel releases the lock when the process
//! dies for any reason, so other processes on this machine know at once that the session is gone.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use beads_core::canonical::hex;
use beads_store::{is_locked, open_to_lock, try_lock};
use sha2::{Digest, Sha256};

use crate::session_id::SessionId;

/// The lock of a session. Released on drop.
#[derive(Debug)]
pub struct SessionLock {
    _file: File,
    path: PathBuf,
}

fn path_of(store_dir: &Path, session: &SessionId) -> PathBuf {
    let name = hex(&Sha256::digest(session.as_str()));
    store_dir.join("sessions").join(&name[..32])
}

impl SessionLock {
    /// Locks the file of a session. Returns `None` where it cannot be created; then no process can detect the
    /// end of the session.
    pub fn hold(store_dir: &Path, session: &SessionId) -> Option<Self> {
        let path = path_of(store_dir, session);
        let _ = DirBuilder::new().mode(0o700).create(path.parent()?);
        let file = open_to_lock(&path, 0o600).ok()?;
        try_lock(&file).ok().filter(|is_ours| *is_ours)?;
        Some(Self { _file: file, path })
    }

    /// Returns whether the process behind a session is known to be gone: its file exists and is not locked.
    pub fn is_gone(store_dir: &Path, session: &SessionId) -> bool {
        let Ok(file) = File::open(path_of(store_dir, session)) else { return false };
        is_locked(&file).is_ok_and(|is_locked| !is_locked)
    }

    /// Removes the file of a session whose process is gone.
    pub fn forget(store_dir: &Path, session: &SessionId) {
        if Self::is_gone(store_dir, session) {
            let _ = std::fs::remove_file(path_of(store_dir, session));
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_lock_shows_that_its_session_is_gone() {
        let store = tempfile::tempdir().unwrap();
        let session: SessionId = "one/../of them".parse().unwrap();
        assert!(!SessionLock::is_gone(store.path(), &session), "the session is unknown");
        let lock = SessionLock::hold(store.path(), &session).unwrap();
        assert!(!SessionLock::is_gone(store.path(), &session));
        // Like `kill -9`: the lock is released, but the file remains.
        lock._file.unlock().unwrap();
        assert!(SessionLock::is_gone(store.path(), &session));
        SessionLock::forget(store.path(), &session);
        assert!(!SessionLock::is_gone(store.path(), &session));
    }
}
