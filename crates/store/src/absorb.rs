//! Taking in a state that was built elsewhere, such as an import: all of it in one commit of the journal.

use beads_core::Delta;

use crate::disk::Disk;
use crate::replica::{Caller, Replica};
use crate::wall::World;
use crate::{Receipt, Result};

/// A record is a line of JSON that recovery reads at once.
const RECORD_BYTES: usize = 32 * 1024 * 1024;

impl<D: Disk, W: World> Replica<D, W> {
    /// Joins a delta in memory. Like [`apply`](Self::apply) it must not be acknowledged before
    /// [`commit`](Self::commit). Joining is its own protection against being asked twice, so no receipt is kept.
    pub fn absorb(&mut self, delta: Delta, caller: &Caller) -> Result<()> {
        let now_ms = self.now_ms();
        let caller = Caller { request: None, ..caller.clone() };
        for part in delta.split(RECORD_BYTES) {
            self.record(&caller, now_ms, part, |asked| Receipt::new(asked, now_ms, &Default::default()))?;
        }
        Ok(())
    }
}
