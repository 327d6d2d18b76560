//! `deletions.jsonl`: the ids of deleted beads, without their content.

use std::collections::BTreeMap;

use super::fields::Fields;
use super::{Draft, ONLY_DELETED, Place, unknown_actor};
use crate::{Bead, BeadId, Deletion, Lineage, Mark, Stamp};

/// The deletion of one bead. Several lines may record it.
#[derive(Debug)]
pub(super) struct Deleted {
    /// The latest deletion.
    pub deletion: Deletion,
    /// The time of the first deletion.
    pub first: Stamp,
    /// The last line that was read.
    pub place: Place,
}

/// The deletions of a file.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    pub by_id: BTreeMap<BeadId, Deleted>,
    /// Deletions of beads that lost their id in a collision. Another bead holds that id.
    pub by_lineage: BTreeMap<Lineage, Deleted>,
    /// Lines whose deletion a later line records too.
    pub repeated: Vec<(Place, BeadId)>,
}

impl Deletions {
    pub fn read(&mut self, place: Place, mut fields: Fields) -> Result<(), String> {
        let id: BeadId = match fields.string("id") {
            Some(id) => id.parse().map_err(|error: crate::Error| error.to_string())?,
            None => return Err("it has no id".to_owned()),
        };
        let first = fields.stamp("ts").or_else(|| fields.stamp("deleted_at")).unwrap_or(Stamp::ZERO);
        let by = fields.actor("by").or_else(|| fields.actor("deleted_by")).unwrap_or_else(unknown_actor);
        let deletion = Deletion::new(Mark::new(first, by), fields.text("reason"));
        let born = fields.stamp("lineage_created_at");
        let by = fields.actor("lineage_created_by").unwrap_or_else(unknown_actor);
        let found = Deleted { deletion, first, place };
        let earlier = match born {
            None => add(&mut self.by_id, id.clone(), found),
            Some(at) if id.is_valid_birth_id() => {
                add(&mut self.by_lineage, Lineage::new(id.clone(), at, by), found)
            }
            Some(_) => return Err("the id is longer than 128 characters".to_owned()),
        };
        self.repeated.extend(earlier.map(|place| (place, id)));
        Ok(())
    }
}

/// Keeps the latest deletion. Returns the place of an earlier line about the same bead.
fn add<K: Ord>(known: &mut BTreeMap<K, Deleted>, key: K, found: Deleted) -> Option<Place> {
    let Some(known) = known.get_mut(&key) else {
        known.insert(key, found);
        return None;
    };
    known.first = known.first.min(found.first);
    if found.deletion > known.deletion {
        known.deletion = found.deletion;
    }
    Some(std::mem::replace(&mut known.place, found.place))
}

/// Creates a deleted placeholder for an id whose bead is unknown, because ids are never reused. It is created
/// at the time of the deletion, so the real bead, if it is imported later, is older and keeps the id.
pub(super) fn placeholder(id: &BeadId, deleted: &Deleted) -> Result<(Lineage, Bead), String> {
    if !id.is_valid_birth_id() {
        return Err("the id is longer than 128 characters".to_owned());
    }
    let draft = Draft::only_deleted(id.clone(), deleted.first, deleted.deletion.mark.by());
    let lineage = draft.lineage();
    let mut bead = draft.bead(&lineage, None, |_| true)?;
    bead.deletion = Some(deleted.deletion.clone());
    Ok((lineage, bead))
}

pub(super) fn is_placeholder(lineage: &Lineage, bead: &Bead) -> bool {
    *lineage.by() == unknown_actor() && bead.title.value.as_str() == ONLY_DELETED && bead.deletion.is_some()
}
