//! What the journal asks of a disk, so that the simulator can put a faulty one underneath.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// One flat directory of files.
pub trait Disk: Send + std::fmt::Debug {
    type File: DiskFile;

    fn names(&self) -> io::Result<Vec<String>>;
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
    /// Makes an empty file, or empties the one that is there.
    fn create(&self, name: &str) -> io::Result<Self::File>;
    fn open(&self, name: &str) -> io::Result<Self::File>;
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes creations and removals durable.
    fn sync_directory(&self) -> io::Result<()>;
    /// Where a file is, for messages.
    fn describe(&self, name: &str) -> String;
}

/// An open file that is written at given places.
pub trait DiskFile: Send + std::fmt::Debug {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Returns when everything written is on stable storage.
    fn sync(&self) -> io::Result<()>;
}

/// A directory of the real file system.
#[derive(Debug, Clone)]
pub struct RealDisk {
    directory: PathBuf,
}

impl RealDisk {
    /// The directory is made when the first file is created, so that reading leaves no trace.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
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
        fs::create_dir_all(&self.directory)?;
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(self.path(name))?;
        Ok(RealFile(file))
    }

    fn open(&self, name: &str) -> io::Result<RealFile> {
        Ok(RealFile(OpenOptions::new().write(true).open(self.path(name))?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    /// The directory may be as new as its files, so its own entry is made durable too.
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
pub struct RealFile(File);

impl DiskFile for RealFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    /// On macOS the standard library asks for `F_FULLFSYNC` here, which reaches the platters.
    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// Makes the entries of a directory durable.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
