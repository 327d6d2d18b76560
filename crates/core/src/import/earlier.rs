//! What only the earlier store says: kept, so that its own form can be written again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Kept, comment};
use crate::export_earlier::stamp;
use crate::{BeadId, Deletion, Lineage, Status, Word};

/// What is kept of a line of the earlier store beside the fields themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Earlier {
    /// Ids that notes have there, by the ids they have here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub note_ids: BTreeMap<String, String>,
    /// `status` and `tracker_state`, where the status and its word do not say them.
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
    pub fn with_id(&self, id: &BeadId) -> Map<String, Value> {
        let mut line = self.0.clone();
        line.insert("id".into(), json!(id));
        line
    }
}

impl Earlier {
    /// The name under which it is kept.
    pub const NAME: &'static str = "earlier_store";

    /// What an import kept; nothing if a file had something else under that name.
    pub fn of(kept: &Kept) -> Self {
        let found = kept.get(Self::NAME).cloned();
        found.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
    }

    /// Notes the words of a status, unless `status` and `word` would be written in the same way.
    pub fn keep_status(&mut self, words: Map<String, Value>, status: Status, word: Option<&Word>) {
        let mut written = Map::from_iter([("status".to_owned(), json!(status))]);
        if let Some(word) = word {
            written.insert("tracker_state".into(), json!(word));
        }
        self.status = Some(words).filter(|words| !words.is_empty() && *words != written);
    }

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

    /// As it is kept with a bead of this lineage; nothing if there is nothing to keep.
    pub(super) fn kept(&self, lineage: &Lineage, comments: &[comment::Comment]) -> Option<Value> {
        let ids = comment::identified(lineage, comments);
        let note_ids = ids.into_iter().filter_map(|(note, comment)| {
            let theirs = comment.id.as_ref().filter(|id| **id != *note.id)?;
            Some((note.id.to_string(), theirs.clone()))
        });
        let whole = Self { note_ids: note_ids.collect(), ..self.clone() };
        (whole != Self::default()).then(|| json!(whole))
    }
}
