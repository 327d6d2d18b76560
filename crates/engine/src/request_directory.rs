//! Requests as files: the same frames as on the socket travel through `<store>/requests/`.
//!
//! A request is written beside its place, locked by its client and renamed to `<id>.request`. The daemon takes it by renaming it
//! to `<id>.taken`, and the client withdraws it by unlinking it, so exactly one of the two happens. A request whose client
//! does not hold the lock any more, or whose deadline has passed, is never run. The answer is `<id>.reply`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The first line of a request; the frame follows.
#[derive(Debug, Serialize, Deserialize)]
pub struct Head {
    /// By the wall clock: client and daemon are on one machine.
    pub deadline_ms: u64,
}

/// The directory of a store's requests.
pub fn directory(store_dir: &Path) -> PathBuf {
    store_dir.join("requests")
}

/// Refuses a directory that another user made, can write to, or put a link in place of (§13.3).
pub fn is_safe(directory: &Path) -> bool {
    let ours = rustix::process::getuid().as_raw();
    std::fs::symlink_metadata(directory).is_ok_and(|metadata| {
        metadata.is_dir() && metadata.uid() == ours && metadata.permissions().mode() & 0o077 == 0
    })
}

/// Opens a file of the directory that must be regular and ours. What is at the path is looked at once it is open.
pub fn open_own(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    let is_ours = metadata.is_file() && metadata.uid() == rustix::process::getuid().as_raw();
    if is_ours { Ok(file) } else { Err(beads_store::not_regular()) }
}

/// Whether the client of a request holds its lock, and so waits for the answer.
pub fn is_waited_for(request: &File) -> bool {
    beads_store::is_locked(request).unwrap_or(false)
}
