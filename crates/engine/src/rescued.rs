//! Rescue files: where they are, and how the next command of the same repository mentions them.

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

const ENDING: &str = ".journal";

/// So many files of one store within one millisecond are not believable.
const MAX_NAMES: u32 = 1_000;

/// The directories that may hold rescue files, the preferred one first. The second serves where there is no home.
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
        let path = directory.join(format!("{stem}{suffix}{ENDING}"));
        match Rescue::write(&path, header, state) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                // Half a file helps nobody.
                let _ = std::fs::remove_file(&path);
                return Err(error);
            }
            Ok(()) => return Ok(path),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// The rescue files of a store that were not imported yet, oldest first.
pub fn of(place: &Place) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for directory in directories() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        let stem = stem(place);
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let ours = names.filter(|name| name.starts_with(&stem) && name.ends_with(ENDING));
        found.extend(ours.map(|name| directory.join(name)));
    }
    found.sort();
    found
}

/// One line about a rescue file: what is in it, and what to do.
pub fn describe(path: &Path) -> String {
    let file = path.display();
    let what = match RescueHeader::read(path) {
        Ok(header) => format!("{} unsaved changes", header.unsaved()),
        Err(error) => format!("changes that cannot be read ({error})"),
    };
    format!(
        "the repository was replaced while its store was open, and {what} were put aside in {file}; \
         bd import --rescued {file} joins them; move the file away if they are not wanted"
    )
}

/// Adds a line for each rescue file of the store to a reply, and one for each journal that ended too early.
pub fn noted(place: &Place, mut reply: Reply) -> Reply {
    let rescued = of(place).into_iter().map(|path| describe(&path));
    let lost = journal_end::lost(place).into_iter().map(|path| journal_end::describe(place, &path));
    for line in rescued.chain(lost) {
        reply.stderr.push_str(&format!("Note: {}\n", crate::escape::escape(&line)));
    }
    reply
}

/// Keeps an imported file under another name, so that it is not mentioned again. Importing it twice does no harm.
pub fn set_imported(path: &Path) {
    let mut name = path.as_os_str().to_owned();
    name.push(".imported");
    let _ = std::fs::rename(path, name);
}
