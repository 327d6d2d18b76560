//! Takes in changes that arrived through the hub.

use std::collections::BTreeSet;
use std::sync::Arc;

use beads_core::{Conflict, Delta, Field, Mark, SharedBead, State};

use crate::Result;
use crate::disk::Disk;
use crate::replica::Replica;
use crate::world::World;

/// The size of one record of the journal.
const RECORD_BYTES: usize = 32 * 1024 * 1024;

/// Up to this many conflicts are added to a record without measuring it. Their values have bounds, too.
const MAX_UNMEASURED_CONFLICTS: usize = 16;

/// How many writes of the hub are remembered.
const MAX_HUB_WRITES: usize = 65_536;

/// The marks of writes that went through the hub. Of two such writes the hub knows whether they were
/// concurrent, so a later merge of commits must not judge them again: it sees only what the commits hold.
#[derive(Debug, Clone, Default)]
pub struct HubWrites(Arc<BTreeSet<Mark>>);

impl HubWrites {
    /// Adds the writes of a delta.
    pub fn note(&mut self, delta: &Delta) {
        let mut marks = Vec::with_capacity(delta.beads.len());
        for patch in delta.beads.values() {
            for (_, mark) in patch.marks() {
                // The registers of a new bead have the same mark.
                if marks.last() != Some(mark) {
                    marks.push(mark.clone());
                }
            }
        }
        self.extend(marks);
    }

    /// Adds the current writes of a state.
    pub fn note_state(&mut self, state: &State) {
        let marks =
            |bead: &SharedBead| Field::ALL.iter().map(|field| bead.mark(*field).clone()).collect::<Vec<_>>();
        self.extend(state.beads().values().flat_map(marks).collect());
    }

    fn extend(&mut self, marks: Vec<Mark>) {
        let set = Arc::make_mut(&mut self.0);
        set.extend(marks);
        while set.len() > MAX_HUB_WRITES {
            set.pop_first();
        }
    }

    /// Removes conflicts between two writes that went through the hub.
    pub(crate) fn filter(&self, conflicts: &mut Vec<Conflict>) {
        if !self.0.is_empty() {
            let known = |mark: &Mark| self.0.contains(mark);
            conflicts.retain(|conflict| !known(&conflict.lost) || !known(&conflict.won));
        }
    }
}

impl<D: Disk, W: World> Replica<D, W> {
    /// Joins a delta of the hub in memory, with the conflicts that it causes, and returns whether it brought
    /// anything new. It is durable after the next [`commit`](Self::commit).
    pub fn take_foreign(&mut self, delta: Delta, conflicts: Vec<Conflict>) -> Result<bool> {
        self.hub_writes.note(&delta);
        self.take_noted(delta, conflicts, false)
    }

    /// Like [`take_foreign`](Self::take_foreign), for a delta whose writes are noted already. `fits` says that it is
    /// not larger than a record of the journal; otherwise it is measured.
    pub(crate) fn take_noted(
        &mut self,
        mut delta: Delta,
        conflicts: Vec<Conflict>,
        fits: bool,
    ) -> Result<bool> {
        let fits = fits && conflicts.len() <= MAX_UNMEASURED_CONFLICTS;
        delta.conflicts.extend(conflicts);
        let state = self.catalog().state();
        if !state.accepts(&delta) {
            // Garbage collection dropped the beads that it refers to, or the hub never had the content of an
            // archived bead. Its writer appends the whole bead then.
            delta = delta.without_unknown_beads(state).0;
        }
        if delta.is_empty() || state.contains(&delta) {
            return Ok(false);
        }
        let now_ms = self.now_ms();
        for stamp in delta.beads.values().flat_map(beads_core::Patch::stamps).collect::<Vec<_>>() {
            self.clock.observe(stamp, now_ms);
        }
        for part in if fits { vec![delta] } else { delta.split(RECORD_BYTES) } {
            let events = self.catalog.join_delta_with_events(&part, now_ms)?;
            self.queue_record("hub".parse()?, now_ms, (part, events), None);
        }
        Ok(true)
    }

    /// Returns the writes that went through the hub.
    pub fn hub_writes_mut(&mut self) -> &mut HubWrites {
        &mut self.hub_writes
    }
}
