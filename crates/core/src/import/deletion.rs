//! `deletions.jsonl`: ids that were deleted, without their beads.

use std::collections::BTreeMap;

use super::fields::Fields;
use super::{Draft, ONLY_DELETED, Place, unknown_actor};
use crate::{Bead, BeadId, Deletion, Lineage, Mark, Stamp};

/// The latest deletion of each id, the moment of the first, and where the last was read.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    pub by_id: BTreeMap<BeadId, (Deletion, Stamp, Place)>,
    /// Lines about an id that an earlier line was about.
    pub repeated: usize,
}

impl Deletions {
    pub fn read(&mut self, place: Place, mut fields: Fields) -> Result<(), String> {
        let id: BeadId = match fields.string("id") {
            Some(id) => id.parse().map_err(|error: crate::Error| error.to_string())?,
            None => return Err("it has no id".to_owned()),
        };
        let at = fields.stamp("ts").or_else(|| fields.stamp("deleted_at")).unwrap_or(Stamp::ZERO);
        let by = fields.actor("by").or_else(|| fields.actor("deleted_by")).unwrap_or_else(unknown_actor);
        let deletion = Deletion { mark: Mark::new(at, by), reason: fields.text("reason") };
        match self.by_id.get_mut(&id) {
            None => {
                self.by_id.insert(id, (deletion, at, place));
            }
            Some((known, first, last)) => {
                *first = at.min(*first);
                if deletion > *known {
                    *known = deletion;
                }
                *last = place;
                self.repeated += 1;
            }
        }
        Ok(())
    }
}

/// A bead that stands for an id of which only the deletion is known: ids are never used twice. It is as old as the
/// deletion, so a real bead of that id, should it turn up, is older and keeps the id.
pub(super) fn stand_in(id: &BeadId, deletion: &Deletion, first: Stamp) -> Result<(Lineage, Bead), String> {
    let line = serde_json::json!({
        "id": id, "title": ONLY_DELETED, "status": "tombstone",
        "created_at": first, "updated_at": first,
    });
    let serde_json::Value::Object(map) = line else { return Err("not a line".to_owned()) };
    let draft = Draft::read(Fields::new(map), None)?;
    let lineage = draft.lineage();
    let mut bead = draft.bead(&lineage, None, |_| true)?;
    bead.deletion = Some(deletion.clone());
    Ok((lineage, bead))
}

pub(super) fn is_stand_in(lineage: &Lineage, bead: &Bead) -> bool {
    *lineage.by() == unknown_actor() && bead.title.value.as_str() == ONLY_DELETED && bead.deletion.is_some()
}
