//! Requests as files: the frames of the socket protocol, exchanged through `<store>/requests/`.
//!
//! The client writes a request to a temporary file, locks it and renames it to `<id>.request`. The daemon
//! takes it by renaming it to `<id>.taken`; the client withdraws it by unlinking it. Exactly one of the two
//! succeeds. The daemon never runs a request whose client no longer holds the lock, or whose deadline has
//! passed. The answer is `<id>.reply`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The first line of a request. The frame follows.
#[derive(Debug, Serialize, Deserialize)]
pub struct Head {
    /// The deadline by the wall clock, which client and daemon share.
    pub deadline_ms: u64,
}

/// Returns the directory of a store's requests.
pub fn directory(store_dir: &Path) -> PathBuf {
    store_dir.join("requests")
}

/// Returns whether the directory belongs to this user alone. Rejects directories that another user created,
/// can write to, or replaced with a link (§13.3).
pub fn is_safe(directory: &Path) -> bool {
    let ours = rustix::process::getuid().as_raw();
    std::fs::symlink_metadata(directory).is_ok_and(|metadata| {
        metadata.is_dir() && metadata.uid() == ours && metadata.permissions().mode() & 0o077 == 0
    })
}

/// Opens a regular file that belongs to this user. Checks the file after opening it, so that it cannot be
/// replaced in between.
pub fn open_own(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    let is_ours = metadata.is_file() && metadata.uid() == rustix::process::getuid().as_raw();
    if is_ours { Ok(file) } else { Err(beads_store::not_regular()) }
}

/// Returns whether the client of a request still holds its lock, and so waits for the answer.
pub fn is_waited_for(request: &File) -> bool {
    beads_store::is_locked(request).unwrap_or(false)
}
