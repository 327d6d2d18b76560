//! Remembers when actors were last heard from, so that asking who works does not read the whole event log each
//! time.

use std::sync::{Mutex, PoisonError};

use beads_core::query::Signs;
use beads_store::{Cursor, Disk, EventLogCopy};

/// The signs of life in the event log, up to a cursor.
#[derive(Debug, Default)]
pub(super) struct HeardFrom(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    until: Cursor,
    signs: Signs,
}

impl HeardFrom {
    /// Takes in the events that were not read yet and returns all signs of life.
    pub(super) fn signs<D: Disk>(&self, log: &EventLogCopy, disk: &D) -> Signs {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let past = log.read_since(disk, &known.until);
        past.events.iter().for_each(|event| known.signs.note(event));
        // What could not be read is read again the next time.
        if past.without_gap {
            known.until = log.cursor().clone();
        }
        known.signs.clone()
    }
}
