//! Updates claims in the store to match what the remote decided.

use beads_core::op::{ClaimBead, Unclaim};
use beads_core::{Actor, ClaimRecord, Lineage, Op, Stamp};

use crate::Result;
use crate::disk::Disk;
use crate::replica::{Caller, Replica};
use crate::world::World;

/// Gives the bead to the claim that won on the remote, and records the loss as a conflict for the losing
/// holder. Does nothing if the store has another claim by now.
pub fn withdraw<D: Disk, W: World>(
    replica: &mut Replica<D, W>,
    lineage: &Lineage,
    lost: Stamp,
    won: &ClaimRecord,
) -> Result<()> {
    let Some(bead) = replica.catalog().bead(lineage) else { return Ok(()) };
    if bead.claim.fence() != Some(lost) {
        return Ok(());
    }
    let reason = format!("withdrawn: {} got the claim on the remote", won.holder);
    assign_claim(replica, lineage, &won.holder, won.lease_ms, &reason)
}

/// Writes a claim of `holder` to the store, even if another actor holds the bead there. That actor's loss is
/// recorded as a conflict.
pub(super) fn assign_claim<D: Disk, W: World>(
    replica: &mut Replica<D, W>,
    lineage: &Lineage,
    holder: &Actor,
    lease_ms: u64,
    reason: &str,
) -> Result<()> {
    let Some(bead) = replica.catalog().bead(lineage) else { return Ok(()) };
    let (lost, loser) = (bead.claim.mark.clone(), bead.claim.assignee.clone());
    let id = replica.catalog().id_of(lineage).to_string();
    let caller = |actor: Actor| Caller { actor, branch: Default::default(), lease_ms, request: None };
    let unclaim = Unclaim { id: id.clone(), force: true, reason: reason.parse()?, ..Default::default() };
    replica.apply(&Op::Unclaim(unclaim), &caller("bd".parse()?))?;
    let claim = ClaimBead { id, lease_ms: Some(lease_ms), ..Default::default() };
    replica.apply(&Op::Claim(claim), &caller(holder.clone()))?;
    let Some(bead) = replica.catalog().bead(lineage) else { return Ok(()) };
    let won = bead.claim.mark.clone();
    replica.record_lost_claim(lineage, loser.as_ref(), lost, won)
}
