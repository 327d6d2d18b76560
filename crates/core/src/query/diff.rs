use std::sync::Arc;

use serde::Serialize;

use crate::history::FieldChange;
use crate::{Bead, Field, Lineage, State, Status};

/// What became of a bead between two states.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    pub lineage: Lineage,
    pub kind: DifferenceKind,
    pub changes: Vec<FieldChange>,
    /// How many notes were added.
    pub notes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    Created,
    Changed,
    Closed,
    Deleted,
    Restored,
}

impl State {
    /// Beads that differ in `later`, oldest first. Leases that were only renewed do not count.
    pub fn differences(&self, later: &Self) -> Vec<Difference> {
        let of = |(lineage, after): (&Lineage, &Arc<Bead>)| {
            let before = self.bead(lineage);
            if before.is_some_and(|before| Arc::ptr_eq(before, after)) {
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
