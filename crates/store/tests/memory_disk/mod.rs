//! A disk in memory whose files a test can read, cut and flip.
#![allow(dead_code)] // each test file uses only some of this

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use beads_store::{Disk, DiskFile};

pub type Files = BTreeMap<String, Vec<u8>>;

/// Clones share their files, as two processes share a directory.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<Files>>);

impl MemoryDisk {
    pub fn holding(files: Files) -> Self {
        Self(Arc::new(Mutex::new(files)))
    }

    pub fn files(&self) -> Files {
        self.0.lock().unwrap().clone()
    }

    fn missing(name: &str) -> io::Error {
        io::Error::new(io::ErrorKind::NotFound, name.to_owned())
    }
}

impl Disk for MemoryDisk {
    type File = MemoryFile;

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.0.lock().unwrap().keys().cloned().collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.0.lock().unwrap().get(name).cloned().ok_or_else(|| Self::missing(name))
    }

    fn create(&self, name: &str) -> io::Result<MemoryFile> {
        self.0.lock().unwrap().insert(name.to_owned(), Vec::new());
        Ok(MemoryFile { disk: self.clone(), name: name.to_owned() })
    }

    fn open(&self, name: &str) -> io::Result<MemoryFile> {
        self.read(name)?;
        Ok(MemoryFile { disk: self.clone(), name: name.to_owned() })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.lock().unwrap().remove(name).map(|_| ()).ok_or_else(|| Self::missing(name))
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn describe(&self, name: &str) -> String {
        format!("memory/{name}")
    }
}

#[derive(Debug)]
pub struct MemoryFile {
    disk: MemoryDisk,
    name: String,
}

impl DiskFile for MemoryFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut files = self.disk.0.lock().unwrap();
        let file = files.get_mut(&self.name).ok_or_else(|| MemoryDisk::missing(&self.name))?;
        let start = usize::try_from(offset).unwrap();
        file.resize(file.len().max(start + bytes.len()), 0);
        file[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
