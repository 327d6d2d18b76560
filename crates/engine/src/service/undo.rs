use beads_core::op::{Overwritten, PriorState, Undo};
use beads_core::{Catalog, EdgeKey, Field, FieldChange, Lineage, Op};
use serde_json::json;

use super::Service;
use crate::failure::Failure;
use crate::render::{Answer, EdgeAnswer, UndoAnswer, UndoneBead};
use crate::request::Request;

impl Service {
    /// Undoes the caller's last operation, or redoes the one that the caller undid last.
    pub(super) fn undo(
        &mut self,
        request: &Request,
        dry_run: bool,
        (redo, skip): (bool, bool),
    ) -> Result<Answer, Failure> {
        let caller = self.caller(request, 0);
        let (actor, replica) = (&request.actor, &self.replica);
        let undo = if redo { replica.last_undone(actor) } else { replica.last_operation(actor, skip) };
        // A repeated request gets its first answer, also when nothing is left to undo. Otherwise an empty
        // undo is refused.
        let op = Op::Undo(Box::new(undo.cloned().unwrap_or_default()));
        if dry_run {
            let applied = self.replica.dry_run(&op, &caller).map_err(|error| worded(error, redo))?;
            let mut after = self.replica.catalog().clone();
            after.join_delta(&applied.delta)?;
            return Ok(Answer::Undone(answer(&after, &applied.undone.unwrap_or_default(), true)));
        }
        let applied = self.replica.apply(&op, &caller).map_err(|error| worded(error, redo))?;
        let undone = applied.undone.unwrap_or_default();
        Ok(Answer::Undone(answer(self.replica.catalog(), &undone, false)))
    }
}

/// Names the verb that had nothing to do.
fn worded(error: beads_store::Error, redo: bool) -> Failure {
    match error {
        beads_store::Error::Core(beads_core::Error::NothingToUndo) if redo => {
            beads_core::Error::NothingToRedo.into()
        }
        error => error.into(),
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
