//! Rescue files: where they are, and how later commands in the same repository mention them.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use beads_core::{State, Timestamp};
use beads_store::{Rescue, RescueHeader};

use crate::failure::{Code, Failure};
use crate::journal_end;
use crate::place::Place;
use crate::request::Reply;
use crate::runtime_directory::runtime_directory;
use crate::state_directory::{state_directory, stem};

/// The extension of rescue files.
const EXTENSION: &str = ".journal";

/// The maximum number of rescue files of one store with the same time, in milliseconds.
const MAX_NAMES: u32 = 1_000;

/// Returns the directories that may contain rescue files, the preferred one first. The second is for users
/// without a home directory.
fn directories() -> Vec<PathBuf> {
    let runtime = runtime_directory();
    state_directory().into_iter().chain([runtime]).map(|path| path.join("rescued")).collect()
}

/// Writes a rescue file and returns its path once it is on stable storage.
pub fn write(place: &Place, header: &RescueHeader, state: &State) -> Result<PathBuf, Failure> {
    let time = Timestamp::text_of(header.at_ms);
    let stem = format!("{}{}", stem(place), time.replace(':', ""));
    let mut failed = Failure::new(Code::IoError, "there is no directory for rescue files: set HOME");
    for directory in directories() {
        match write_in(&directory, &stem, header, state) {
            Ok(path) => return Ok(path),
            Err(error) => failed = Failure::io("write a rescue file in", &directory, &error),
        }
    }
    Err(failed)
}

fn write_in(directory: &Path, stem: &str, header: &RescueHeader, state: &State) -> std::io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    for number in 0..MAX_NAMES {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        let path = directory.join(format!("{stem}{suffix}{EXTENSION}"));
        match Rescue::write(&path, header, state) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                // Do not leave an incomplete file.
                let _ = std::fs::remove_file(&path);
                return Err(error);
            }
            Ok(()) => return Ok(path),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Returns the rescue files of a store that have not been imported, oldest first.
pub fn of(place: &Place) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for directory in directories() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        let stem = stem(place);
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let ours = names.filter(|name| name.starts_with(&stem) && name.ends_with(EXTENSION));
        found.extend(ours.map(|name| directory.join(name)));
    }
    found.sort();
    found
}

/// Returns one line about a rescue file: what it contains, and what to do.
pub fn describe(path: &Path) -> String {
    let file = path.display();
    let what = match RescueHeader::read(path) {
        Ok(header) => format!("{} unsaved changes", header.unsaved()),
        Err(error) => format!("changes that cannot be read ({error})"),
    };
    format!(
        "the repository was replaced while its store was open, and {what} were saved to {file}; \
         run bd import --rescued {file} to merge them, or move the file away to discard them"
    )
}

/// Adds a line to a reply for each rescue file of the store, and for each journal that ended too early.
pub fn with_notes(place: &Place, mut reply: Reply) -> Reply {
    let rescued = of(place).into_iter().map(|path| describe(&path));
    let lost = journal_end::losses(place).into_iter().map(|path| journal_end::describe(place, &path));
    for line in rescued.chain(lost) {
        reply.stderr.push_str(&format!("Note: {}\n", crate::escape::escape(&line)));
    }
    reply
}

/// Renames an imported file, so that it is not mentioned again. Importing a file twice does no harm.
pub fn mark_imported(path: &Path) {
    let mut name = path.as_os_str().to_owned();
    name.push(".imported");
    let _ = std::fs::rename(path, name);
}
