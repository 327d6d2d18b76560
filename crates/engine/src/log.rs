//! The daemon's log: dated lines in `daemon.log`, kept across restarts. A full file is renamed to
//! `daemon.log.1`, which replaces the previous one, so there are at most two files.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use beads_core::Timestamp;
use beads_store::{RealWorld, World, without_secrets};

use crate::escape::escape;
use crate::failure::Failure;

/// The size at which a log file is full: a few thousand lines. A failing remote adds at most one line in five
/// minutes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The log file of this process, if it is a daemon.
static LOG_PATH: OnceLock<PathBuf> = OnceLock::new();

/// Returns the path of a store's log.
pub fn path(store_dir: &Path) -> PathBuf {
    store_dir.join("daemon.log")
}

fn earlier(path: &Path) -> PathBuf {
    path.with_extension("log.1")
}

/// Opens the log for appending, after renaming a full one.
pub fn open(store_dir: &Path) -> Result<File, Failure> {
    let path = path(store_dir);
    append(&path).map_err(|error| Failure::io("open", &path, &error))
}

fn append(path: &Path) -> std::io::Result<File> {
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() >= MAX_BYTES) {
        std::fs::rename(path, earlier(path))?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Makes [`note`] and panics of this process write to the store's log.
pub fn redirect_to(store_dir: &Path) {
    if LOG_PATH.set(path(store_dir)).is_ok() {
        std::panic::set_hook(Box::new(|panic| note(&format!("panic: {panic}"))));
    }
}

/// Writes one dated line with secrets removed: to the log if this process is a daemon, or else to standard
/// error.
pub fn note(message: &str) {
    let message = without_secrets(message);
    let Some(path) = LOG_PATH.get() else {
        eprintln!("{}", escape(&message));
        return;
    };
    let time = Timestamp::text_of(RealWorld.now_ms());
    let line = format!("{time} [{}] {}\n", std::process::id(), escape(&message));
    let is_full = std::fs::metadata(path).is_ok_and(|metadata| metadata.len() >= MAX_BYTES);
    // A deleted log is not created again: its directory was removed, or another store is there now.
    let opened = if is_full { append(path) } else { OpenOptions::new().append(true).open(path) };
    // The daemon works without a log, too.
    let _ = opened.and_then(|mut file| {
        if is_full {
            // Output of libraries and of the runtime goes to the new file, too.
            rustix::stdio::dup2_stderr(&file)?;
        }
        file.write_all(line.as_bytes())
    });
}

/// Reads the log since a time, oldest line first. A line without a date belongs to the line before it.
pub fn read(store_dir: &Path, since: Option<Timestamp>) -> Result<String, Failure> {
    let path = path(store_dir);
    let mut lines = String::new();
    let mut is_wanted = since.is_none();
    for file in [earlier(&path), path] {
        let bytes = match std::fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Failure::io("read", &file, &error)),
        };
        for line in String::from_utf8_lossy(&bytes).lines() {
            if let Some(time) = line.split(' ').next().and_then(|word| word.parse::<Timestamp>().ok()) {
                is_wanted = since.is_none_or(|since| time >= since);
            }
            if is_wanted {
                // Earlier versions and libraries wrote unescaped text.
                lines.push_str(&escape(line));
                lines.push('\n');
            }
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // failing is a test's job

    use super::*;

    #[test]
    fn a_full_log_is_moved_aside_and_both_are_read_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let full = "2026-01-01T00:00:00.000Z [1] old\n".repeat(usize::try_from(MAX_BYTES / 32).unwrap());
        std::fs::write(path(dir.path()), &full).unwrap();
        open(dir.path()).unwrap().write_all(b"2026-01-02T00:00:00.000Z [2] new\nundated\n").unwrap();
        assert_eq!(std::fs::metadata(path(dir.path())).unwrap().len(), 41);
        let all = read(dir.path(), None).unwrap();
        assert!(all.starts_with("2026-01-01") && all.ends_with("[2] new\nundated\n"));
        let since = read(dir.path(), "2026-01-02T00:00:00Z".parse().ok()).unwrap();
        assert_eq!(since, "2026-01-02T00:00:00.000Z [2] new\nundated\n");
        assert_eq!(read(dir.path(), "2027-01-01T00:00:00Z".parse().ok()).unwrap(), "");
    }
}
