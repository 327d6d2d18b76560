//! Crash-safe files.
//!
//! A snapshot is replaced atomically: temporary file in the same directory, fsync, rename, fsync of the
//! directory. A log only grows: one write at its end, then fsync. All writing happens under the store's lock,
//! so one name per directory is enough for the temporary file, and a leftover of a killed process is
//! overwritten.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use beads_store::{Replacement, sync_directory};
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::bounds::{LOG_MAX, SNAPSHOT_MAX};
use super::error::{Error, Result};

const TEMPORARY: &str = ".tmp";

fn open(path: &Path) -> Result<Option<File>> {
    // Without O_NONBLOCK, opening a pipe in place of the file would block forever. A clone may contain links.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(Error::unreadable(path, why)),
    };
    let about = file.metadata().map_err(|why| Error::unreadable(path, why))?;
    if !about.is_file() {
        return Err(Error::damaged(path, "it is not a regular file"));
    }
    Ok(Some(file))
}

/// Returns the content, or `None` if there is no such file. A file above the bound is refused without reading
/// all of it.
pub fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>> {
    let Some(file) = open(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|why| Error::unreadable(path, why))?;
    if bytes.len() as u64 > most {
        return Err(Error::damaged(path, format!("it has more than {most} bytes")));
    }
    Ok(Some(bytes))
}

/// Reads a snapshot; `None` if there is no such file.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match read(path, SNAPSHOT_MAX)? {
        None => Ok(None),
        Some(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|why| Error::damaged(path, why)),
    }
}

/// Returns the records of a log and an error for each line that cannot be read. Ignores bytes after the last
/// line feed: their writer never acknowledged them.
pub fn read_log<T: DeserializeOwned>(path: &Path) -> Result<(Vec<T>, Vec<BadLine>)> {
    let bytes = read(path, LOG_MAX)?.unwrap_or_default();
    let (mut records, mut bad) = (Vec::new(), Vec::new());
    let Some(end) = bytes.iter().rposition(|b| *b == b'\n') else { return Ok((records, bad)) };
    for (at, line) in bytes[..end].split(|b| *b == b'\n').enumerate() {
        match serde_json::from_slice(line) {
            Ok(record) => records.push(record),
            Err(why) => bad.push(BadLine { line: at + 1, why: why.to_string() }),
        }
    }
    Ok((records, bad))
}

/// A line of a log that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Counted from 1.
    pub line: usize,
    pub why: String,
}

/// Replaces a snapshot, pretty-printed.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|why| Error::unwritable(path, why))?;
    text.push(b'\n');
    write(path, &text).map_err(|why| Error::unwritable(path, why))
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    make_dir(dir)?;
    let mut next = Replacement::beside(path, dir.join(TEMPORARY))?;
    write_all(&mut next, bytes)?;
    next.sync()?;
    crash_point();
    next.publish()?;
    sync_directory(dir)?;
    crash_point();
    Ok(())
}

/// Encodes a record as one line of a log.
pub fn line(path: &Path, value: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value).map_err(|why| Error::unwritable(path, why))?;
    line.push(b'\n');
    Ok(line)
}

/// Returns the length of a log. A log that ends in the middle of a line is damaged.
pub fn log_length(path: &Path) -> Result<u64> {
    let Some(mut file) = open(path)? else { return Ok(0) };
    let mut last = [b'\n'];
    let mut length = || {
        let length = file.seek(SeekFrom::End(0))?;
        if length > 0 {
            file.seek(SeekFrom::Start(length - 1))?;
            file.read_exact(&mut last)?;
        }
        Ok(length)
    };
    let length = length().map_err(|why: io::Error| Error::unreadable(path, why))?;
    if last == *b"\n" { Ok(length) } else { Err(Error::damaged(path, "its last line is not complete")) }
}

/// Makes sure that the log has the line `wanted` (recognized by `same`), completing a partial one. Reads the
/// whole log; used only in recovery.
pub fn ensure_line(path: &Path, wanted: &[u8], same: impl Fn(&[u8]) -> bool) -> Result<()> {
    let bytes = read(path, LOG_MAX)?.unwrap_or_default();
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    if bytes[..whole].split(|b| *b == b'\n').any(same) {
        return Ok(());
    }
    match wanted.strip_prefix(&bytes[whole..]) {
        Some(rest) => append(path, rest),
        None => Err(Error::damaged(path, "its last line is not complete")),
    }
}

/// Appends bytes to a log.
pub fn append(path: &Path, bytes: &[u8]) -> Result<()> {
    append_all(path, bytes).map_err(|why| Error::unwritable(path, why))
}

fn append_all(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    make_dir(dir)?;
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = OpenOptions::new().append(true).create(true).custom_flags(flags).open(path)?;
    let fresh = file.seek(SeekFrom::End(0))? == 0;
    write_all(&mut file, bytes)?;
    file.sync_all()?;
    if fresh {
        sync_directory(dir)?;
    }
    crash_point();
    Ok(())
}

fn write_all(file: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    #[cfg(test)]
    let bytes = {
        let (begun, rest) = bytes.split_at(bytes.len() / 2);
        file.write_all(begun)?;
        crash_point();
        rest
    };
    file.write_all(bytes)
}

/// Marks a point at which a test can simulate a crash.
fn crash_point() {
    #[cfg(test)]
    super::crash_tests::crash_point();
}

/// Truncates a log to an earlier length. Only used on lines that were never acknowledged.
pub fn truncate(path: &Path, length: u64) -> io::Result<()> {
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => file.set_len(length).and_then(|()| file.sync_all()),
        Err(why) if why.kind() == io::ErrorKind::NotFound && length == 0 => Ok(()),
        Err(why) => Err(why),
    }
}

/// Removes a file if it exists.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => Ok(()),
    }
}

/// Creates a directory and its parents durably.
pub fn make_dir(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_dir(parent)?;
        match fs::create_dir(dir) {
            Err(why) if why.kind() != io::ErrorKind::AlreadyExists || !dir.is_dir() => return Err(why),
            _ => sync_directory(parent)?,
        }
    }
    Ok(())
}
