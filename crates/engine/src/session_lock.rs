//! A file that a process holds locked for as long as its session lasts. The kernel releases the lock when the process dies,
//! however it dies, so others on this machine know that the session is gone without waiting.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use beads_core::canonical::hex;
use beads_store::{is_locked, open_to_lock, try_lock};
use sha2::{Digest, Sha256};

use crate::session_id::SessionId;

/// Held as long as this lives.
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
    /// Locks the file of a session. `None` where it cannot be made: then nobody knows when the session is gone.
    pub fn hold(store_dir: &Path, session: &SessionId) -> Option<Self> {
        let path = path_of(store_dir, session);
        let _ = DirBuilder::new().mode(0o700).create(path.parent()?);
        let file = open_to_lock(&path, 0o600).ok()?;
        try_lock(&file).ok().filter(|is_ours| *is_ours)?;
        Some(Self { _file: file, path })
    }

    /// Whether the process behind a session is known to be gone: it held its file locked, and does no more.
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
    fn a_lock_that_is_no_longer_held_tells_that_its_session_is_gone() {
        let store = tempfile::tempdir().unwrap();
        let session: SessionId = "one/../of them".parse().unwrap();
        assert!(!SessionLock::is_gone(store.path(), &session), "nothing is known of it");
        let lock = SessionLock::hold(store.path(), &session).unwrap();
        assert!(!SessionLock::is_gone(store.path(), &session));
        // As after `kill -9`: the lock is released, and the file stays.
        lock._file.unlock().unwrap();
        assert!(SessionLock::is_gone(store.path(), &session));
        SessionLock::forget(store.path(), &session);
        assert!(!SessionLock::is_gone(store.path(), &session));
    }
}
