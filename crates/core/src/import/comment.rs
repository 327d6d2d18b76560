//! Comments of other trackers, which are notes here.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::fields::Fields;
use super::{time, unknown_actor};
use crate::{Bead, Lineage, Mark, Note, Slot, Stamp, Text};

/// A note before the bead's lineage is known, on which its id depends. The id it has in the file does not matter, be it
/// a number or a text: the same comment must get the same id wherever it is imported. It only tells whether two files
/// have the same note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comment {
    pub id: Option<String>,
    pub mark: Mark,
    pub text: Text,
    pub slot: Option<Slot>,
}

impl Comment {
    /// `None` for something without text. A comment without a time is as old as its bead.
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

/// The notes of a bead. Of two equal comments the second is one later, so that both stay. What the bead already says is
/// not said again: a file tells times in milliseconds, and the notes slot without its own time.
pub(super) fn notes(lineage: &Lineage, comments: &[Comment], known: Option<&Bead>) -> Vec<Arc<Note>> {
    let notes = identified(lineage, comments).into_iter().map(|(note, _)| note);
    notes.filter(|note| !known.is_some_and(|bead| says(bead, note))).map(Arc::new).collect()
}

/// The note that each comment is, under an id of its own.
pub(super) fn identified<'c>(lineage: &Lineage, comments: &'c [Comment]) -> Vec<(Note, &'c Comment)> {
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

fn says(bead: &Bead, note: &Note) -> bool {
    if bead.notes.contains_key(&note.id) {
        return false; // the very same; joining it changes nothing
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
