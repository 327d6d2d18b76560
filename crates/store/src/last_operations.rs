use std::collections::BTreeMap;

use beads_core::op::Undo;
use beads_core::{Actor, Catalog};

use crate::record::LastOperation;
use crate::{Header, Record};

/// How many actors' last operations are known; who has been silent longest goes first.
const MAX_ACTORS: usize = 64;

/// What everybody did last here. Outlives a restart: the journal's records tell it again, and its headers carry on what
/// was in segments that are gone.
#[derive(Debug, Default)]
pub struct LastOperations {
    by_actor: BTreeMap<Actor, LastOperation>,
    /// Records up to here are in what a header carried on.
    carried_up_to: u64,
}

impl LastOperations {
    pub fn carried(header: Option<&Header>) -> Self {
        let carried = header.into_iter().flat_map(|header| &header.last_operations);
        Self {
            by_actor: carried.map(|one| (one.by.clone(), one.clone())).collect(),
            carried_up_to: header.map_or(0, |header| header.position),
        }
    }

    /// Takes note of a record that the catalog is about to take.
    pub fn replay(&mut self, catalog: &Catalog, record: &Record) {
        if record.position > self.carried_up_to {
            self.keep(&record.by, record.at_ms, Undo::of(catalog, &record.delta, &record.by, record.at_ms));
        }
    }

    pub fn keep(&mut self, by: &Actor, at_ms: u64, undo: Option<Undo>) {
        let Some(undo) = undo else { return };
        self.by_actor.insert(by.clone(), LastOperation { by: by.clone(), at_ms, undo });
        if self.by_actor.len() > MAX_ACTORS {
            let silent = self.by_actor.values().min_by_key(|one| one.at_ms).map(|one| one.by.clone());
            silent.map(|actor| self.by_actor.remove(&actor));
        }
    }

    pub fn of(&self, actor: &Actor) -> Option<&Undo> {
        self.by_actor.get(actor).map(|last| &last.undo)
    }

    pub fn to_carry(&self) -> Vec<LastOperation> {
        self.by_actor.values().cloned().collect()
    }
}
