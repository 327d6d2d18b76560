//! Notes: an append-only log (§4.2.2) that is merged by union.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::canonical::{hex, to_canonical};
use crate::{Lineage, Mark, Metadata, Stamp, Text, Word};

/// A hash of lineage, time, author and text. The same note has the same id on every replica.
pub type NoteId = std::sync::Arc<str>;

/// One entry of a bead's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Note {
    // Fields are declared in the order of their encoding.
    /// When the note was written.
    pub at: Stamp,
    /// Who wrote it.
    pub author: crate::Actor,
    /// The text.
    pub content: Text,
    /// Additional data; its meaning depends on `kind`.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub data: Metadata,
    /// The id of the note.
    pub id: NoteId,
    /// The kind of a structured note, such as `evidence`; absent for plain notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Word>,
    /// Set for texts written with `update --notes`, which clients of the Go `bd` read as one field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
}

/// A field whose value is its newest note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schemars(transform = crate::schema::plain_enum))]
pub enum Slot {
    /// The field `notes` of the Go `bd`.
    Notes,
}

impl Note {
    /// Returns a plain note.
    pub fn new(lineage: &Lineage, mark: &Mark, content: Text, slot: Option<Slot>) -> Self {
        let id = note_id(lineage, mark, &content);
        let (at, author) = (mark.at(), mark.by().clone());
        Self { at, author, content, data: Metadata::default(), id, kind: None, slot }
    }

    /// Returns a note with a kind. Neither `kind` nor `data` is part of its id.
    pub fn structured(lineage: &Lineage, mark: &Mark, content: Text, kind: Word, data: Metadata) -> Self {
        Self { kind: Some(kind), data, ..Self::new(lineage, mark, content, None) }
    }

    /// Returns whether the note needs format version 2.
    pub(crate) fn is_structured(&self) -> bool {
        self.kind.is_some() || !self.data.is_empty()
    }

    /// Returns who wrote the note and when.
    pub fn mark(&self) -> Mark {
        Mark::new(self.at, self.author.clone())
    }

    /// Returns the sort key for reading order: time, author, id.
    pub fn order(&self) -> (Stamp, &crate::Actor, &NoteId) {
        (self.at, &self.author, &self.id)
    }
}

fn note_id(lineage: &Lineage, mark: &Mark, content: &Text) -> NoteId {
    let born = (lineage.birth_id(), lineage.at().ms(), lineage.at().counter(), lineage.by());
    let digest = Sha256::digest(to_canonical(&(born, mark.at(), mark.by(), content)));
    hex(&digest)[..12].into()
}
