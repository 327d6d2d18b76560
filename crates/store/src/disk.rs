//! The disk interface of the journal, so that the simulator can use a faulty disk.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::identity::{Identity, StoreChange};

/// A flat directory of files.
pub trait Disk: Send + std::fmt::Debug {
    /// An open file.
    type File: DiskFile;

    /// Lists the names of all files.
    fn names(&self) -> io::Result<Vec<String>>;
    /// Reads a whole file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
    /// Creates an empty file, or truncates an existing one.
    fn create(&self, name: &str) -> io::Result<Self::File>;
    /// Opens an existing file.
    fn open(&self, name: &str) -> io::Result<Self::File>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes creations and removals durable.
    fn sync_directory(&self) -> io::Result<()>;
    /// Returns the path of a file, for messages.
    fn describe(&self, name: &str) -> String;
}

/// An open file that is written at given offsets.
pub trait DiskFile: Send + std::fmt::Debug {
    /// Writes all bytes at an offset.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Returns once everything written is on stable storage.
    fn sync(&self) -> io::Result<()>;
}

/// A directory of the real file system.
#[derive(Debug, Clone)]
pub struct RealDisk {
    directory: PathBuf,
    identity: Option<Arc<Identity>>,
    read_only: bool,
}

impl RealDisk {
    /// Returns the disk for a directory, which is created with the first file, so that reading leaves no
    /// trace.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), identity: None, read_only: false }
    }

    /// Like [`new`](Self::new), but refuses to create or remove files once another store is at this path.
    pub fn guarded(directory: impl Into<PathBuf>, identity: Arc<Identity>) -> Self {
        Self { directory: directory.into(), identity: Some(identity), read_only: false }
    }

    /// Returns the disk of a read-only store: files can be opened, but not written.
    pub fn read_only(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), identity: None, read_only: true }
    }

    fn check(&self) -> io::Result<()> {
        match self.identity.as_ref().map(|identity| identity.check()) {
            Some(StoreChange::Moved | StoreChange::Replaced) => {
                Err(io::Error::other("the store was replaced or moved"))
            }
            _ => Ok(()),
        }
    }

    /// Wraps an open file. The journal's segment is watched, because it shows whether a store was restored in
    /// place.
    fn file(&self, name: &str, file: File) -> io::Result<RealFile> {
        let identity = self.identity.clone().filter(|_| name.starts_with(crate::journal::NAME));
        let watch = identity.map(|identity| (identity, self.path(name)));
        let file = RealFile { file, watch };
        file.note()?;
        Ok(file)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

impl Disk for RealDisk {
    type File = RealFile;

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            names.extend(entry?.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.path(name))
    }

    fn create(&self, name: &str) -> io::Result<RealFile> {
        self.check()?;
        fs::create_dir_all(&self.directory)?;
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(self.path(name))?;
        self.file(name, file)
    }

    fn open(&self, name: &str) -> io::Result<RealFile> {
        let mut options = OpenOptions::new();
        let options = if self.read_only { options.read(true) } else { options.write(true) };
        self.file(name, options.open(self.path(name))?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.check()?;
        fs::remove_file(self.path(name))
    }

    /// Syncs the directory, and its parent, because the directory may be as new as its files.
    fn sync_directory(&self) -> io::Result<()> {
        sync_directory(&self.directory)?;
        self.directory.parent().filter(|parent| !parent.as_os_str().is_empty()).map_or(Ok(()), sync_directory)
    }

    fn describe(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}

/// A file of the real file system.
#[derive(Debug)]
pub struct RealFile {
    file: File,
    watch: Option<(Arc<Identity>, PathBuf)>,
}

impl RealFile {
    fn forget(&self) {
        if let Some((identity, _)) = &self.watch {
            identity.forget();
        }
    }

    fn note(&self) -> io::Result<()> {
        if let Some((identity, path)) = &self.watch {
            identity.note(path, &self.file.metadata()?);
        }
        Ok(())
    }
}

impl DiskFile for RealFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset).inspect_err(|_| self.forget())
    }

    /// Syncs the data. On macOS the standard library uses `F_FULLFSYNC`, which reaches stable storage.
    fn sync(&self) -> io::Result<()> {
        self.file.sync_data().inspect_err(|_| self.forget())?;
        self.note()
    }
}

/// Makes the entries of a directory durable.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
