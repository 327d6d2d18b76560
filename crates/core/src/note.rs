//! Notes: an append-only log (§4.2.2), merged by union.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::canonical::{hex, to_canonical};
use crate::{Lineage, Mark, Metadata, Stamp, Text, Word};

/// Hash of (lineage, at, author, text): the same note has the same id on every replica.
pub type NoteId = std::sync::Arc<str>;

/// One entry of a bead's log. Fields are declared in the order of their encoding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Note {
    pub at: Stamp,
    pub author: crate::Actor,
    pub content: Text,
    /// What belongs to `kind`.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub data: Metadata,
    pub id: NoteId,
    /// What a structured note is, such as `evidence`; absent for plain notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Word>,
    /// Marks the texts set with `update --notes`, which clients of the Go `bd` read as one field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
}

/// The named places a note can be the newest entry of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Slot {
    Notes,
}

impl Note {
    pub fn new(lineage: &Lineage, mark: &Mark, content: Text, slot: Option<Slot>) -> Self {
        let id = note_id(lineage, mark, &content);
        let (at, author) = (mark.at(), mark.by().clone());
        Self { at, author, content, data: Metadata::default(), id, kind: None, slot }
    }

    /// A note that says what it is. Neither `kind` nor `data` is part of its id.
    pub fn structured(lineage: &Lineage, mark: &Mark, content: Text, kind: Word, data: Metadata) -> Self {
        Self { kind: Some(kind), data, ..Self::new(lineage, mark, content, None) }
    }

    /// Whether it has what only format version 2 can hold.
    pub(crate) fn is_structured(&self) -> bool {
        self.kind.is_some() || !self.data.is_empty()
    }

    pub fn mark(&self) -> Mark {
        Mark::new(self.at, self.author.clone())
    }

    /// The order in which a log is read: by time, then author, then id.
    pub fn order(&self) -> (Stamp, &crate::Actor, &NoteId) {
        (self.at, &self.author, &self.id)
    }
}

fn note_id(lineage: &Lineage, mark: &Mark, content: &Text) -> NoteId {
    let born = (lineage.birth_id(), lineage.at().ms(), lineage.at().counter(), lineage.by());
    let digest = Sha256::digest(to_canonical(&(born, mark.at(), mark.by(), content)));
    hex(&digest)[..12].into()
}
