//! The `.beads` directory of the Go bd: finds the file to import, and checks whether it is current.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use beads_core::Timestamp;
use beads_engine::failure::{Code, Failure};
use beads_engine::place::Place;
use beads_engine::request::InputNotes;
use serde_json::Value;

/// The names of the export file, newest first.
const FILES: [&str; 2] = ["issues.jsonl", "beads.jsonl"];

/// The database directories of versions 0.50 and later.
const DOLT: [&str; 2] = ["embeddeddolt", "dolt"];

/// The most files to inspect for the last change of a database.
const MAX_FILES: usize = 10_000;

/// An importable file in a `.beads` directory.
#[derive(Debug)]
pub struct Found {
    pub path: PathBuf,
    pub notes: InputNotes,
}

/// Finds a `.beads` directory of the Go bd, from `start` up to the top of the repository.
pub fn find(start: &Path) -> Result<Found, Failure> {
    let top = Place::repository_around(start).map(|(_, work_tree)| work_tree);
    for directory in start.ancestors() {
        let beads = directory.join(".beads");
        if let Some(found) = find_in(&beads)? {
            return Ok(found);
        }
        if Some(directory) == top.as_deref() {
            break;
        }
    }
    let looked = start.join(".beads");
    let message = format!("nothing to import in {} or its parent directories; name a file", looked.display());
    Err(Failure::new(Code::NotFound, message))
}

/// Finds the file to import in a `.beads` directory. Returns `None` if the Go bd did not use it.
pub fn find_in(beads: &Path) -> Result<Option<Found>, Failure> {
    let named = metadata(beads)["jsonl_export"].as_str().map(str::to_owned);
    let named = named.filter(|name| !name.contains('/') && name.ends_with(".jsonl"));
    let names = named.iter().map(String::as_str).chain(FILES);
    let path = names.map(|name| beads.join(name)).find(|path| path.is_file());
    let Some(path) = path else {
        return match database(beads) {
            Some(kind) => {
                let beads = beads.display();
                let message = format!("{beads} has {kind} but no file to import; {EXPORT_FIRST}");
                Err(Failure::new(Code::NotFound, message))
            }
            None => Ok(None),
        };
    };
    let found = Some(description(&path));
    Ok(Some(Found { notes: InputNotes { found, warnings: warnings(&path) }, path }))
}

const EXPORT_FIRST: &str = "run `bd export --all -o .beads/issues.jsonl` with the Go bd first";

/// Returns a warning if the database next to the file is newer than the file.
pub fn warnings(path: &Path) -> Vec<String> {
    let Some(beads) = path.parent() else { return Vec::new() };
    let written = path.metadata().and_then(|file| file.modified()).ok();
    let newest = DOLT.iter().filter_map(|name| newest_in(&beads.join(name))).max();
    match (written, newest) {
        (Some(written), Some(newest)) if written < newest => {
            let (file, data) = (format_time(written), format_time(newest));
            vec![format!(
                "{} was written at {file}, before the last change of the Dolt database next to it at {data}; {EXPORT_FIRST}",
                path.display()
            )]
        }
        _ => Vec::new(),
    }
}

fn description(path: &Path) -> String {
    let mut text = path.display().to_string();
    if let Ok(file) = path.metadata() {
        text.push_str(&format!(" ({} kB", file.len().div_ceil(1000)));
        if let Ok(time) = file.modified() {
            text.push_str(&format!(", written at {}", format_time(time)));
        }
        text.push(')');
    }
    if path.with_file_name("deletions.jsonl").is_file() {
        text.push_str(" with deletions.jsonl");
    }
    text
}

fn metadata(beads: &Path) -> Value {
    let bytes = std::fs::read(beads.join("metadata.json")).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Returns the kind of database in a directory without an export file.
fn database(beads: &Path) -> Option<&'static str> {
    if DOLT.iter().any(|name| beads.join(name).is_dir()) || metadata(beads)["backend"] == "dolt" {
        return Some("a Dolt database");
    }
    let mut entries = std::fs::read_dir(beads).ok()?.flatten();
    let is_database = |name: &Path| name.extension().is_some_and(|extension| extension == "db");
    entries.any(|entry| is_database(Path::new(&entry.file_name()))).then_some("an SQLite database")
}

/// Returns the newest modification time of any file below a directory.
fn newest_in(directory: &Path) -> Option<SystemTime> {
    let (mut open, mut newest, mut seen) = (vec![directory.to_owned()], None, 0);
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).ok()?.flatten() {
            seen += 1;
            if seen > MAX_FILES {
                return newest;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file()
                && let Ok(time) = entry.metadata().and_then(|file| file.modified())
            {
                newest = newest.max(Some(time));
            }
        }
    }
    newest
}

fn format_time(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    Timestamp::text_of(ms)
}
