//! Comments of other trackers, which become notes.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::fields::Fields;
use super::{time, unknown_actor};
use crate::{Bead, Lineage, Mark, Note, Slot, Stamp, Text};

/// A note without its final id, which depends on the bead's lineage. The id in the file only shows whether
/// two files have the same note. It does not determine the final id: the same comment must get the same id
/// wherever it is imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comment {
    pub id: Option<String>,
    pub mark: Mark,
    pub text: Text,
    pub slot: Option<Slot>,
}

impl Comment {
    /// Reads a comment. Returns `None` if it has no text. A comment without a time gets the time of its bead.
    pub fn read(map: &Map<String, Value>, fallback: Stamp) -> Option<Self> {
        let mut fields = Fields::new(map.clone());
        let text = fields.string("text").or_else(|| fields.string("content"))?;
        let text: Text = text.replace('\0', "").parse().ok()?;
        if text.is_empty() {
            return None;
        }
        let at = fields.stamp("created_at").or_else(|| fields.stamp("at")).unwrap_or(fallback);
        let by = fields.actor("author").unwrap_or_else(unknown_actor);
        let id = fields.take("id").map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
        Some(Self { id, mark: Mark::new(at, by), text, slot: None })
    }
}

/// Returns the notes to add to a bead. Notes that the bead already has are left out, even if their stamps
/// differ: a file has times in milliseconds only, and no time for the notes slot.
pub(super) fn notes(lineage: &Lineage, comments: &[Comment], known: Option<&Bead>) -> Vec<Arc<Note>> {
    let notes = with_ids(lineage, comments).into_iter().map(|(note, _)| note);
    notes.filter(|note| !known.is_some_and(|bead| has_equivalent(bead, note))).map(Arc::new).collect()
}

/// Returns the note of each comment with a unique id. Of two equal comments, the second gets a later stamp.
pub(super) fn with_ids<'c>(lineage: &Lineage, comments: &'c [Comment]) -> Vec<(Note, &'c Comment)> {
    let mut seen = BTreeSet::new();
    let identify = |comment: &'c Comment| {
        let mut mark = comment.mark.clone();
        loop {
            let note = Note::new(lineage, &mark, comment.text.clone(), comment.slot);
            if seen.insert(note.id.clone()) {
                return (note, comment);
            }
            mark = Mark::new(time::after(mark.at()), mark.by().clone());
        }
    };
    comments.iter().map(identify).collect()
}

/// Returns whether the bead has the same note with a different stamp.
fn has_equivalent(bead: &Bead, note: &Note) -> bool {
    if bead.notes.contains_key(&note.id) {
        return false; // identical, so joining it changes nothing
    }
    if note.slot.is_some() {
        let newest = bead.notes.values().filter(|known| known.slot == note.slot).max_by_key(|known| known.at);
        return newest.is_some_and(|newest| newest.content == note.content);
    }
    let same = |known: &Note| {
        (known.at.ms(), &known.author, &known.content) == (note.at.ms(), &note.author, &note.content)
    };
    note.at.counter() == 0 && bead.notes.values().any(|known| same(known))
}
