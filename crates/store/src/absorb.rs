//! Taking in a state that was built elsewhere, such as an import: all of it in one commit of the journal.

use beads_core::Delta;
use serde_json::Value;

use crate::disk::Disk;
use crate::replica::{Caller, Replica};
use crate::wall::World;
use crate::{Receipt, Result};

/// A record is a line of JSON that recovery reads at once.
const RECORD_BYTES: usize = 32 * 1024 * 1024;

impl<D: Disk, W: World> Replica<D, W> {
    /// Joins a delta in memory. Like [`apply`](Self::apply) it must not be acknowledged before
    /// [`commit`](Self::commit). What the caller is told stands in the last record: a journal that was cut before it
    /// lets the caller ask again, and joining twice changes nothing.
    pub fn absorb(&mut self, delta: Delta, caller: &Caller, told: &Value) -> Result<()> {
        let now_ms = self.now_ms();
        let mut parts = if delta.is_empty() { Vec::new() } else { delta.split(RECORD_BYTES) };
        if parts.is_empty() && caller.is_remembered() {
            parts.push(Delta::default());
        }
        let last = parts.len().saturating_sub(1);
        let nameless = Caller { request: None, ..caller.clone() };
        for (index, part) in parts.into_iter().enumerate() {
            let caller = if index == last { caller } else { &nameless };
            self.record(caller, now_ms, part, |asked| Receipt::of_answer(asked, now_ms, told.clone()))?;
        }
        Ok(())
    }
}
