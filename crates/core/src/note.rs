//! Notes: an append-only log (§4.2.2), merged by union.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::canonical::{hex, to_canonical};
use crate::{Lineage, Mark, Stamp, Text};

/// Hash of (lineage, at, author, text): the same note has the same id on every replica.
pub type NoteId = std::sync::Arc<str>;

/// One entry of a bead's log. Fields are declared in the order of their encoding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    pub at: Stamp,
    pub author: crate::Actor,
    pub content: Text,
    pub id: NoteId,
    /// Marks the texts set with `update --notes`, which clients of the Go `bd` read as one field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
}

/// The named places a note can be the newest entry of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Slot {
    Notes,
}

impl Note {
    pub fn new(lineage: &Lineage, mark: &Mark, content: Text, slot: Option<Slot>) -> Self {
        let id = note_id(lineage, mark, &content);
        Self { at: mark.at(), author: mark.by().clone(), content, id, slot }
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
