//! The socket's place: a directory that nobody else can enter, checked before it is trusted (§13.3).

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use beads_core::canonical::hex;
use sha2::{Digest, Sha256};

use crate::failure::{Code, Failure};
use crate::place::Place;
use crate::runtime_directory::runtime_directory;

/// Where a store's daemon listens.
#[derive(Debug, Clone)]
pub struct SocketPath {
    directory: PathBuf,
    path: PathBuf,
}

impl SocketPath {
    /// Named after the store, in the user's runtime directory: a path inside a deep repository would be too long for
    /// a socket address.
    pub fn of(place: &Place) -> Self {
        let directory = runtime_directory();
        let store = place.git_dir.canonicalize().unwrap_or_else(|_| place.git_dir.clone());
        let name = hex(&Sha256::digest(store.as_os_str().as_encoded_bytes()));
        let path = directory.join(format!("{}.sock", &name[..16]));
        Self { directory, path }
    }

    /// A socket that is named elsewhere; `None` for a path that cannot be one.
    pub fn at(path: &Path) -> Option<Self> {
        let directory = path.parent().filter(|_| path.is_absolute())?;
        Some(Self { directory: directory.to_owned(), path: path.to_owned() })
    }

    /// Tells the socket of one daemon from that of the next, which may get the same inode.
    pub fn birth(&self) -> Option<(u64, i64, i64)> {
        let metadata = fs::metadata(&self.path).ok()?;
        Some((metadata.ino(), metadata.ctime(), metadata.ctime_nsec()))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory if need be, and makes sure that it is ours alone.
    pub fn prepare(&self) -> Result<(), Failure> {
        let made = fs::DirBuilder::new().mode(0o700).recursive(false).create(&self.directory);
        match made {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(no_socket("make", &self.directory, &error)),
        }
        self.check()
    }

    /// Refuses a directory that somebody else made, can write to, or put a link in place of.
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

/// Where no socket can be, no daemon can be, and commands do the work themselves.
pub(super) fn no_socket(action: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::DaemonUnreachable, format!("cannot {action} {}: {error}", path.display()))
}
