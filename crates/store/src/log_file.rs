//! An append-only file of frames beside the journal, for derived data that must outlive the journal.

use crate::disk::{Disk, DiskFile};
use crate::frame::{self, Found};
use crate::{Error, Result};

/// An append-only file of frames.
#[derive(Debug)]
pub(crate) struct LogFile<F> {
    file: F,
    pub(crate) bytes: u64,
    frames: u64,
}

impl<F: DiskFile> LogFile<F> {
    /// Creates a file with one frame, durably.
    pub(crate) fn create<D: Disk<File = F>>(disk: &D, name: &str, payload: &[u8]) -> Result<Self> {
        let start = || {
            let mut file = Self { file: disk.create(name)?, bytes: 0, frames: 0 };
            file.append(payload)?;
            disk.sync_directory()?;
            Ok(file)
        };
        start().map_err(|error| io(disk, "write", name, error))
    }

    /// Opens a file that was read before, to append after its last readable frame.
    pub(crate) fn open<D: Disk<File = F>>(disk: &D, name: &str, bytes: u64, frames: u64) -> Result<Self> {
        let file = disk.open(name).map_err(|error| io(disk, "open", name, error))?;
        Ok(Self { file, bytes, frames })
    }

    /// Appends and syncs a frame. After a failure the next attempt writes to the same place.
    pub(crate) fn append(&mut self, payload: &[u8]) -> std::io::Result<()> {
        let bytes = frame::encode(self.frames, payload);
        self.file.write_at(&bytes, self.bytes)?;
        self.file.sync()?;
        (self.bytes, self.frames) = (self.bytes + bytes.len() as u64, self.frames + 1);
        Ok(())
    }
}

/// The readable frames of a file.
#[derive(Debug)]
pub(crate) struct Frames<'a> {
    pub(crate) payloads: Vec<&'a [u8]>,
    pub(crate) end: u64,
    /// Whether the bytes after them are more than a crash leaves.
    pub(crate) damaged: bool,
}

impl<'a> Frames<'a> {
    /// Reads frames up to the first bad one.
    pub(crate) fn read(bytes: &'a [u8]) -> Self {
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

/// Returns the lines of a frame.
pub(crate) fn lines(payload: &[u8]) -> impl Iterator<Item = &[u8]> {
    payload.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// Encodes one line of a frame.
pub(crate) fn line(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value).map_err(|error| Error::JournalFailed(error.to_string()))?;
    line.push(b'\n');
    Ok(line)
}

/// Returns the error of a file operation.
pub(crate) fn io<D: Disk>(disk: &D, action: &'static str, name: &str, source: std::io::Error) -> Error {
    Error::Io { action, path: disk.describe(name).into(), source }
}

/// Returns the numbers of the files with this prefix, in order.
pub(crate) fn numbers<D: Disk>(disk: &D, prefix: &str) -> Result<Vec<u64>> {
    let names = disk.names().map_err(|error| io(disk, "list", prefix, error))?;
    let mut numbers: Vec<u64> =
        names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}
