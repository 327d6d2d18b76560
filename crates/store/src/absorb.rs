//! Takes in a state that was built elsewhere, such as an import, in one commit of the journal.

use beads_core::{Actor, Claim, Clock, Delta, Lineage, Mark, Timestamp};
use serde_json::Value;

use crate::disk::Disk;
use crate::replica::{Caller, Replica};
use crate::world::World;
use crate::{Receipt, Result};

/// The size limit of a record, which is one line of JSON that recovery parses at once.
const RECORD_BYTES: usize = 32 * 1024 * 1024;

impl<D: Disk, W: World> Replica<D, W> {
    /// Joins a delta in memory. As with [`apply`](Self::apply), do not acknowledge it before
    /// [`commit`](Self::commit) returns.
    ///
    /// The answer is stored in the last record: if the journal was cut off before it, the caller can ask
    /// again, and joining twice changes nothing.
    ///
    /// The holders of `leases` get fresh ones, because trackers without leases cannot say how long a claim
    /// lasts.
    pub fn absorb(
        &mut self,
        mut delta: Delta,
        leases: &[(Lineage, Claim)],
        caller: &Caller,
        answer: &Value,
    ) -> Result<()> {
        self.note_import(&delta);
        let now_ms = self.now_ms();
        let end = Timestamp::from_ms(now_ms.saturating_add(caller.lease_ms))?;
        grant_leases(&mut delta, leases, &mut self.clock, (now_ms, &caller.actor, end))?;
        let mut parts = if delta.is_empty() { Vec::new() } else { delta.split(RECORD_BYTES) };
        if parts.is_empty() && caller.requires_receipt() {
            parts.push(Delta::default());
        }
        let last = parts.len().saturating_sub(1);
        let anonymous = Caller { request: None, ..caller.clone() };
        for (index, part) in parts.into_iter().enumerate() {
            let caller = if index == last { caller } else { &anonymous };
            self.record(caller, now_ms, part, |key| Receipt::of_answer(key, now_ms, answer.clone()))?;
        }
        Ok(())
    }
}

/// Gives claims a lease that ends at `end`, with one stamp for all of them.
pub(crate) fn grant_leases(
    delta: &mut Delta,
    leases: &[(Lineage, Claim)],
    clock: &mut Clock,
    (now_ms, actor, end): (u64, &Actor, Timestamp),
) -> Result<()> {
    if leases.is_empty() {
        return Ok(());
    }
    let overwritten = leases.iter().flat_map(|(_, claim)| [claim.mark.at(), claim.expires_mark.at()]);
    let mark = Mark::new(clock.mint(now_ms, overwritten)?, actor.clone());
    for (lineage, claim) in leases {
        let patch = delta.beads.entry(lineage.clone()).or_default();
        patch.claim = Some(claim.renewed(mark.clone(), Some(end)));
    }
    Ok(())
}
