//! The path of the daemon's socket, in a directory that only this user can enter. It is checked before every
//! use (§13.3).

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use beads_core::canonical::hex;
use sha2::{Digest, Sha256};

use crate::failure::{Code, Failure};
use crate::place::Place;
use crate::runtime_directory::runtime_directory;

/// The path of the socket on which a store's daemon listens.
#[derive(Debug, Clone)]
pub struct SocketPath {
    directory: PathBuf,
    path: PathBuf,
}

impl SocketPath {
    /// Returns the socket of a store. It is in the user's runtime directory, because a path inside a deeply
    /// nested repository may be too long for a socket address.
    pub fn of(place: &Place) -> Self {
        let directory = runtime_directory();
        let store = place.git_dir.canonicalize().unwrap_or_else(|_| place.git_dir.clone());
        let name = hex(&Sha256::digest(store.as_os_str().as_encoded_bytes()));
        let path = directory.join(format!("{}.sock", &name[..16]));
        Self { directory, path }
    }

    /// Returns the socket at a path; `None` if the path is relative.
    pub fn at(path: &Path) -> Option<Self> {
        let directory = path.parent().filter(|_| path.is_absolute())?;
        Some(Self { directory: directory.to_owned(), path: path.to_owned() })
    }

    /// Identifies this socket file. The next daemon's socket may have the same inode, but not the same change
    /// time.
    pub fn file_identity(&self) -> Option<(u64, i64, i64)> {
        let metadata = fs::metadata(&self.path).ok()?;
        Some((metadata.ino(), metadata.ctime(), metadata.ctime_nsec()))
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the directory if necessary, and checks that only this user can access it.
    pub fn prepare(&self) -> Result<(), Failure> {
        let made = fs::DirBuilder::new().mode(0o700).recursive(false).create(&self.directory);
        match made {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(no_socket("make", &self.directory, &error)),
        }
        self.check()
    }

    /// Rejects a directory that belongs to another user, is accessible to others, or is a symbolic link.
    pub fn check(&self) -> Result<(), Failure> {
        let metadata = fs::symlink_metadata(&self.directory)
            .map_err(|error| Failure::io("look at", &self.directory, &error))?;
        let unsafe_because = if !metadata.is_dir() {
            Some("is not a directory")
        } else if metadata.uid() != rustix::process::getuid().as_raw() {
            Some("belongs to another user")
        } else if metadata.permissions().mode() & 0o077 != 0 {
            Some("is open to other users")
        } else {
            None
        };
        match unsafe_because {
            None => Ok(()),
            Some(reason) => {
                let message = format!("the runtime directory {} {reason}", self.directory.display());
                Err(Failure::new(Code::UnsafeRuntimeDirectory, message))
            }
        }
    }
}

/// The failure when the socket cannot be created. Commands then run requests in their own process.
pub(super) fn no_socket(action: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::DaemonUnreachable, format!("cannot {action} {}: {error}", path.display()))
}
