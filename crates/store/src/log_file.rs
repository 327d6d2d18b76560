//! A file of frames that only grows: beside the journal, for what is not the truth but must survive it.

use crate::disk::{Disk, DiskFile};
use crate::frame::{self, Found};
use crate::{Error, Result};

#[derive(Debug)]
pub struct LogFile<F> {
    file: F,
    pub bytes: u64,
    frames: u64,
}

impl<F: DiskFile> LogFile<F> {
    /// Makes a new file with one frame, durable.
    pub fn create<D: Disk<File = F>>(disk: &D, name: &str, payload: &[u8]) -> Result<Self> {
        let start = || {
            let mut file = Self { file: disk.create(name)?, bytes: 0, frames: 0 };
            file.append(payload)?;
            disk.sync_directory()?;
            Ok(file)
        };
        start().map_err(|error| io(disk, "write", name, error))
    }

    /// Opens a file that was read before, to go on right behind what could be read.
    pub fn open<D: Disk<File = F>>(disk: &D, name: &str, bytes: u64, frames: u64) -> Result<Self> {
        let file = disk.open(name).map_err(|error| io(disk, "open", name, error))?;
        Ok(Self { file, bytes, frames })
    }

    /// After a failure the next attempt writes in the same place.
    pub fn append(&mut self, payload: &[u8]) -> std::io::Result<()> {
        let bytes = frame::encode(self.frames, payload);
        self.file.write_at(&bytes, self.bytes)?;
        self.file.sync()?;
        (self.bytes, self.frames) = (self.bytes + bytes.len() as u64, self.frames + 1);
        Ok(())
    }
}

/// What could be read of a file: its frames up to the first that is not one.
#[derive(Debug)]
pub struct Frames<'a> {
    pub payloads: Vec<&'a [u8]>,
    pub end: u64,
    /// What follows is more than a crash leaves.
    pub damaged: bool,
}

impl<'a> Frames<'a> {
    pub fn read(bytes: &'a [u8]) -> Self {
        let mut read = Self { payloads: Vec::new(), end: 0, damaged: false };
        let mut offset = 0;
        loop {
            match frame::find(bytes, offset) {
                Found::Frame { number, payload, end } if number == read.payloads.len() as u64 => {
                    read.payloads.push(payload);
                    (offset, read.end) = (end, end as u64);
                }
                Found::End | Found::Bad { good_later: None } => return read,
                Found::Frame { .. } | Found::Bad { good_later: Some(_) } => {
                    read.damaged = true;
                    return read;
                }
            }
        }
    }
}

/// The lines of a frame.
pub fn lines(payload: &[u8]) -> impl Iterator<Item = &[u8]> {
    payload.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// One line of a frame.
pub fn line(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value).map_err(|error| Error::JournalFailed(error.to_string()))?;
    line.push(b'\n');
    Ok(line)
}

pub fn io<D: Disk>(disk: &D, action: &'static str, name: &str, source: std::io::Error) -> Error {
    Error::Io { action, path: disk.describe(name).into(), source }
}

/// The numbers of the files with this prefix, in order.
pub fn numbers<D: Disk>(disk: &D, prefix: &str) -> Result<Vec<u64>> {
    let names = disk.names().map_err(|error| io(disk, "list", prefix, error))?;
    let mut numbers: Vec<u64> =
        names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}
