//! Detects a journal that lost changes while no daemon was running. When a command closes a store with
//! unsaved changes, it records where the journal ends. If the journal ends earlier the next time it is
//! opened, a backup was restored or files were deleted in between.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use beads_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::state_directory::{state_directory, stem};

const DIRECTORY: &str = "journals";
const ENDING: &str = "end";
const LOST: &str = ".lost";

/// The end of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEnd {
    /// The number of the segment being written, which only grows.
    pub generation: u64,
    /// The number of the last change, which only grows.
    pub tail: u64,
}

impl JournalEnd {
    fn is_before(self, other: Self) -> bool {
        self.generation < other.generation || self.tail < other.tail
    }
}

impl From<(u64, u64)> for JournalEnd {
    fn from((generation, tail): (u64, u64)) -> Self {
        Self { generation, tail }
    }
}

/// The record written when a store is closed.
#[derive(Debug, Serialize, Deserialize)]
struct Closed {
    /// Device and inode of the git directory. A record of another repository at the same path does not apply.
    git_dir: (u64, u64),
    end: JournalEnd,
    /// The number of changes that were only in the journal.
    unsaved: u64,
}

/// The record of a journal that ended too early.
#[derive(Debug, Serialize, Deserialize)]
struct Lost {
    closed: Closed,
    found: JournalEnd,
}

/// Records where the journal ends. Errors are ignored: without a record the next check is skipped.
pub fn record(place: &Place, end: JournalEnd, unsaved: u64) {
    let Some(git_dir) = git_dir(place) else { return };
    let Some(path) = record_path(place) else { return };
    let Ok(text) = serde_json::to_vec(&Closed { git_dir, end, unsaved }) else { return };
    if std::fs::write(&path, &text).is_err() {
        let created =
            path.parent().map(|parent| DirBuilder::new().recursive(true).mode(0o700).create(parent));
        if created.is_some_and(|created| created.is_ok()) {
            let _ = std::fs::write(&path, &text);
        }
    }
}

/// Compares the journal with the record made when it was closed. A loss is recorded in a file, and reported
/// until the user moves that file away.
pub fn check(place: &Place, found: JournalEnd, now_ms: u64) {
    let Some(path) = record_path(place) else { return };
    let Ok(text) = std::fs::read(&path) else { return };
    let closed: Option<Closed> = serde_json::from_slice(&text).ok();
    let lost = closed.filter(|closed| Some(closed.git_dir) == git_dir(place) && found.is_before(closed.end));
    if let Some(closed) = lost {
        let time = Timestamp::text_of(now_ms);
        let name = format!("{}{}{LOST}", stem(place), time.replace(':', ""));
        if let Ok(text) = serde_json::to_vec(&Lost { closed, found }) {
            let _ = std::fs::write(path.with_file_name(name), text);
        }
    }
    let _ = std::fs::remove_file(&path);
}

/// Deletes the record of a journal that is about to be replaced on purpose.
pub fn forget(place: &Place) {
    if let Some(path) = record_path(place) {
        let _ = std::fs::remove_file(path);
    }
}

/// Returns the files that record losses of this store's journal, oldest first.
pub fn losses(place: &Place) -> Vec<PathBuf> {
    let Some(state) = state_directory() else { return Vec::new() };
    let entries = std::fs::read_dir(state.join(DIRECTORY)).into_iter().flatten().flatten();
    let name = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let is_lost = |path: &PathBuf| name(path).is_some_and(|name| name.ends_with(LOST));
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(is_lost).collect();
    // This runs in every command and almost never finds one, so the store's digest is only computed if
    // needed.
    if !found.is_empty() {
        let stem = stem(place);
        found.retain(|path| name(path).is_some_and(|name| name.starts_with(&stem)));
        found.sort();
    }
    found
}

/// Describes a recorded loss in one line: what happened, and what to do.
pub fn describe(place: &Place, path: &Path) -> String {
    let (directory, file) = (place.store_dir(), path.display());
    let lost: Option<Lost> = std::fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let what = lost.map_or_else(String::new, |Lost { closed, found }| {
        let missing = closed.unsaved.min(closed.end.tail.saturating_sub(found.tail).max(1));
        let changes = if missing == 1 { "change" } else { "changes" };
        format!(
            " (after change {} instead of {}), with up to {missing} {changes} fewer that were in no commit yet",
            found.tail, closed.end.tail
        )
    });
    format!(
        "the journal in {} ended too early when it was opened{what}: its files were put back to an earlier state or deleted while no \
         daemon ran; put the later files back, or sync with a clone that has the changes, and then move {file} away",
        directory.display()
    )
}

/// Returns the path of the record. It is in the user's state directory, because the runtime directory may be
/// emptied at any time.
fn record_path(place: &Place) -> Option<PathBuf> {
    Some(state_directory()?.join(DIRECTORY).join(format!("{}{ENDING}", stem(place))))
}

fn git_dir(place: &Place) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(&place.git_dir).ok()?;
    Some((metadata.dev(), metadata.ino()))
}
