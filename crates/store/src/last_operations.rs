//! The last operation of each actor, so that it can be undone.
use std::collections::BTreeMap;

use beads_core::op::Undo;
use beads_core::{Actor, Catalog};

use crate::record::LastOperation;
use crate::{Header, Record};

/// How many actors' last operations are kept. The actor inactive for longest is dropped first.
const MAX_ACTORS: usize = 64;

/// The last operation of each actor. It survives a restart: the journal's records are replayed, and its
/// headers carry the operations of removed segments.
#[derive(Debug, Default)]
pub(crate) struct LastOperations {
    by_actor: BTreeMap<Actor, LastOperation>,
    /// Records up to this position are covered by the header.
    carried_up_to: u64,
}

impl LastOperations {
    /// Restores the operations that a header carries.
    pub(crate) fn carried(header: Option<&Header>) -> Self {
        let carried = header.into_iter().flat_map(|header| &header.last_operations);
        Self {
            by_actor: carried.map(|one| (one.by.clone(), one.clone())).collect(),
            carried_up_to: header.map_or(0, |header| header.position),
        }
    }

    /// Remembers a record that the catalog is about to take.
    pub(crate) fn replay(&mut self, catalog: &Catalog, record: &Record) {
        if record.position > self.carried_up_to {
            self.keep(&record.by, record.at_ms, Undo::of(catalog, &record.delta, &record.by, record.at_ms));
        }
    }

    /// Remembers an actor's operation, if it can be undone.
    pub(crate) fn keep(&mut self, by: &Actor, at_ms: u64, undo: Option<Undo>) {
        let Some(undo) = undo else { return };
        self.by_actor.insert(by.clone(), LastOperation { by: by.clone(), at_ms, undo });
        if self.by_actor.len() > MAX_ACTORS {
            let silent = self.by_actor.values().min_by_key(|one| one.at_ms).map(|one| one.by.clone());
            silent.map(|actor| self.by_actor.remove(&actor));
        }
    }

    /// Returns how to undo an actor's last operation.
    pub(crate) fn of(&self, actor: &Actor) -> Option<&Undo> {
        self.by_actor.get(actor).map(|last| &last.undo)
    }

    /// Returns the operations that the next header must carry.
    pub(crate) fn to_carry(&self) -> Vec<LastOperation> {
        self.by_actor.values().cloned().collect()
    }
}
