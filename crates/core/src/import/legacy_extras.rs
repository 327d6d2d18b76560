//! Data of a legacy store that has no equivalent here. It is kept so that an export can write the legacy
//! format again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Kept, comment};
use crate::export_legacy::stamp;
use crate::{BeadId, Deletion, Lineage, Status, Word};

/// Data kept from a line of a legacy store in addition to its fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LegacyExtras {
    /// The legacy ids of notes, by their ids here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub note_ids: BTreeMap<String, String>,
    /// The fields `status` and `tracker_state`, if they cannot be derived from the status and its word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Map<String, Value>>,
    /// Deletions of beads that lost this bead's id in a collision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_births: Vec<LostBirth>,
}

/// A line of `tombstones.jsonl` without its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct LostBirth(Map<String, Value>);

impl LostBirth {
    /// Returns the line with its id.
    pub fn with_id(&self, id: &BeadId) -> Map<String, Value> {
        let mut line = self.0.clone();
        line.insert("id".into(), json!(id));
        line
    }
}

impl LegacyExtras {
    /// The key under which it is kept.
    pub const NAME: &'static str = "earlier_store";

    /// Returns what an import kept. Returns the default if the key holds something else.
    pub fn of(kept: &Kept) -> Self {
        let found = kept.get(Self::NAME).cloned();
        found.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
    }

    /// Keeps the original status fields, unless an export of `status` and `word` writes the same.
    pub fn keep_status(&mut self, words: Map<String, Value>, status: Status, word: Option<&Word>) {
        let mut written = Map::from_iter([("status".to_owned(), json!(status))]);
        if let Some(word) = word {
            written.insert("tracker_state".into(), json!(word));
        }
        self.status = Some(words).filter(|words| !words.is_empty() && *words != written);
    }

    /// Keeps the deletion of a bead that lost its id.
    pub fn keep_lost_birth(&mut self, lineage: &Lineage, deletion: &Deletion) {
        let mut line = Map::from_iter([
            ("deleted_at".to_owned(), stamp(deletion.mark.at())),
            ("deleted_by".to_owned(), json!(deletion.mark.by())),
            ("lineage_created_at".to_owned(), stamp(lineage.at())),
            ("lineage_created_by".to_owned(), json!(lineage.by())),
        ]);
        if !deletion.reason.is_empty() {
            line.insert("reason".into(), json!(deletion.reason));
        }
        self.lost_births.push(LostBirth(line));
    }

    /// Returns the JSON to keep with a bead of this lineage, or `None` if there is nothing to keep.
    pub(super) fn kept(&self, lineage: &Lineage, comments: &[comment::Comment]) -> Option<Value> {
        let ids = comment::with_ids(lineage, comments);
        let note_ids = ids.into_iter().filter_map(|(note, comment)| {
            let theirs = comment.id.as_ref().filter(|id| **id != *note.id)?;
            Some((note.id.to_string(), theirs.clone()))
        });
        let whole = Self { note_ids: note_ids.collect(), ..self.clone() };
        (whole != Self::default()).then(|| json!(whole))
    }
}
