use serde::Serialize;

use crate::history::FieldChange;
use crate::{Bead, Field, Lineage, SharedBead, State, Status};

/// How a bead differs between two states.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The bead.
    pub lineage: Lineage,
    /// What happened to it.
    pub kind: DifferenceKind,
    /// The fields that changed.
    pub changes: Vec<FieldChange>,
    /// The number of notes that were added.
    pub notes: usize,
}

/// What happened to a bead between two states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// It is new.
    Created,
    /// Fields or notes changed.
    Changed,
    /// It was closed.
    Closed,
    /// It was deleted.
    Deleted,
    /// It was deleted before and is live again.
    Restored,
}

impl State {
    /// Returns the beads that differ in `later`, oldest first. Renewed leases do not count as a difference.
    pub fn differences(&self, later: &Self) -> Vec<Difference> {
        let of = |(lineage, after): (&Lineage, &SharedBead)| {
            let before = self.bead(lineage);
            if before.is_some_and(|before| before.is_same_copy(after)) {
                return None;
            }
            if after.is_archived() {
                return None;
            }
            let before = before.map(AsRef::as_ref).filter(|before| before.deletion.is_none());
            let existed = self.bead(lineage).is_some();
            let kind = match (before, after.deletion.is_some()) {
                (None, true) => return None,
                (None, false) if existed => DifferenceKind::Restored,
                (None, false) => DifferenceKind::Created,
                (Some(_), true) => DifferenceKind::Deleted,
                (Some(before), false) => {
                    let closed = |bead: &Bead| bead.status.value.status == Status::Closed;
                    if closed(after) && !closed(before) {
                        DifferenceKind::Closed
                    } else {
                        DifferenceKind::Changed
                    }
                }
            };
            let changes = changes(before, after);
            let notes = after.notes.len().saturating_sub(before.map_or(0, |before| before.notes.len()));
            (kind != DifferenceKind::Changed || !changes.is_empty() || notes > 0).then(|| Difference {
                lineage: lineage.clone(),
                kind,
                changes,
                notes,
            })
        };
        later.beads().iter().filter_map(of).collect()
    }
}

fn changes(before: Option<&Bead>, after: &Bead) -> Vec<FieldChange> {
    let fields = Field::ALL.iter().copied().filter(|field| *field != Field::AssigneeExpires);
    fields
        .map(|field| FieldChange {
            field,
            from: before.map_or(serde_json::Value::Null, |bead| bead.value_json(field)),
            to: after.value_json(field),
        })
        .filter(|change| change.from != change.to)
        .collect()
}
