use beads_core::op::{Overwritten, PriorState, Undo};
use beads_core::{Catalog, EdgeKey, Field, FieldChange, Lineage, Op};
use serde_json::json;

use super::Service;
use crate::failure::Failure;
use crate::render::{Answer, EdgeAnswer, UndoAnswer, UndoneBead};
use crate::request::Request;

impl Service {
    /// Undoes the caller's last operation.
    pub(super) fn undo(&mut self, request: &Request, dry_run: bool) -> Result<Answer, Failure> {
        let caller = self.caller(request, 0);
        let undo = self.replica.last_operation(&request.actor).cloned();
        let op = Op::Undo(Box::new(undo.ok_or(beads_core::Error::NothingToUndo)?));
        if dry_run {
            let applied = self.replica.dry_run(&op, &caller)?;
            let mut after = self.replica.catalog().clone();
            after.join_delta(&applied.delta)?;
            return Ok(Answer::Undone(answer(&after, &applied.undone.unwrap_or_default(), true)));
        }
        let undone = self.replica.apply(&op, &caller)?.undone.unwrap_or_default();
        Ok(Answer::Undone(answer(self.replica.catalog(), &undone, false)))
    }
}

/// Describes an undo, from what it overwrote and the state after it.
fn answer(now: &Catalog, redo: &Undo, dry_run: bool) -> UndoAnswer {
    let bead = |(lineage, old): (&Lineage, &Overwritten)| {
        let bead = now.bead(lineage)?;
        let action = match (&bead.deletion, &old.prior) {
            (Some(_), _) => "deleted",
            (None, PriorState::Deleted { .. }) => "restored",
            (None, _) => "changed",
        };
        let claim = old.claim.iter().map(|old| (Field::Assignee, json!(old.assignee)));
        let fields = old.fields.iter().map(|(field, old)| (*field, old.value.clone())).chain(claim);
        let changes = fields.map(|(field, from)| FieldChange { field, from, to: bead.value_json(field) });
        Some(UndoneBead {
            id: now.id_of(lineage).clone(),
            title: bead.title.value.clone(),
            action,
            changes: changes.filter(|change| change.from != change.to).collect(),
        })
    };
    let edge = |key: &EdgeKey| {
        let removed = now.state().edge(key)?.deleted;
        EdgeAnswer::of(now, key, if removed { "removed" } else { "added" })
    };
    UndoAnswer {
        dry_run,
        beads: redo.beads.iter().filter_map(bead).collect(),
        dependencies: redo.edges.keys().filter_map(edge).collect(),
    }
}
