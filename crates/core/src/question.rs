//! Questions to a person. A question is a structured note; it is open until an answer note names its id. Nothing else
//! records that a bead is waiting, so a stale write cannot undo a close or lose an answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use crate::{Actor, Bead, Error, Lineage, Mark, Metadata, Note, NoteId, Result, Text, Word};

/// The note kind of a question.
pub const QUESTION: &str = "question";

/// The note kind of an answer. Its data names the question's note id.
pub const ANSWER: &str = "answer";

/// A question on a bead, with its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The note that holds the question.
    pub note: Arc<Note>,
    /// The answers in the order of the log. Empty while the question is open.
    pub answers: Vec<Arc<Note>>,
}

impl Question {
    /// Returns the actor who asked.
    pub fn asked_by(&self) -> &Actor {
        &self.note.author
    }

    /// Returns the suggested answers, in the order in which they were given.
    pub fn options(&self) -> Vec<String> {
        strings(&self.note.data, "options")
    }
}

impl Note {
    /// Returns whether the note is a question.
    pub fn is_question(&self) -> bool {
        is_kind(self, QUESTION)
    }
}

impl Bead {
    /// Returns every question on this bead, oldest first.
    pub fn questions(&self) -> Vec<Question> {
        let notes = self.notes_in_order();
        let answers_to = |question: &NoteId| {
            notes
                .iter()
                .filter(|note| answered_question(note) == Some(&**question))
                .copied()
                .cloned()
                .collect()
        };
        let with_answers =
            |note: &Arc<Note>| Question { note: Arc::clone(note), answers: answers_to(&note.id) };
        notes.iter().copied().filter(|note| note.is_question()).map(with_answers).collect()
    }

    /// Returns the questions without an answer, oldest first.
    pub fn open_questions(&self) -> Vec<Question> {
        if !self.has_open_question() {
            return Vec::new();
        }
        self.questions().into_iter().filter(|question| question.answers.is_empty()).collect()
    }

    /// Returns whether a question on this bead has no answer yet.
    pub fn has_open_question(&self) -> bool {
        let mut open: BTreeSet<&str> =
            self.notes.values().filter(|note| note.is_question()).map(|note| &*note.id).collect();
        if open.is_empty() {
            return false;
        }
        for answered in self.notes.values().filter_map(|note| answered_question(note)) {
            open.remove(answered);
        }
        !open.is_empty()
    }
}

/// Builds the note of a question.
pub(crate) fn question_note(lineage: &Lineage, mark: &Mark, text: Text, options: &[String]) -> Result<Note> {
    let data = if options.is_empty() { json!({}) } else { json!({"options": options}) };
    structured(lineage, mark, text, QUESTION, data)
}

/// Builds the note that answers a question.
pub(crate) fn answer_note(lineage: &Lineage, mark: &Mark, text: Text, question: &NoteId) -> Result<Note> {
    structured(lineage, mark, text, ANSWER, json!({"question": &**question}))
}

fn structured(
    lineage: &Lineage,
    mark: &Mark,
    text: Text,
    kind: &str,
    data: serde_json::Value,
) -> Result<Note> {
    let data: Metadata =
        serde_json::from_value(data).map_err(|error| Error::invalid("question", error.to_string()))?;
    Ok(Note::structured(lineage, mark, text, kind.parse::<Word>()?, data))
}

fn is_kind(note: &Note, kind: &str) -> bool {
    note.kind.as_ref().is_some_and(|word| word.as_str() == kind)
}

/// Returns the id of the question that a note answers, if the note is an answer.
fn answered_question(note: &Note) -> Option<&str> {
    if is_kind(note, ANSWER) { note.data.get("question")?.as_str() } else { None }
}

/// Reads a list of strings from a note's data. Other shapes, from another version, count as empty.
fn strings(data: &Metadata, key: &str) -> Vec<String> {
    let list = data.get(key).and_then(|value| value.as_array().cloned()).unwrap_or_default();
    list.into_iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}
