//! What the store says of a claim.

use beads_core::{Bead, Stamp, Status, Timestamp};

/// What the store says of a claim whose ref is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Stands,
    Over,
    /// A claim of another machine, without a ref, overwrote it.
    Overwritten,
}

pub(super) fn stands(bead: &Bead, fence: Stamp, now_ms: u64) -> bool {
    bead.claim.fence() == Some(fence)
        && bead.claim.is_taken()
        && !bead.claim.expired(now_ms)
        && bead.deletion.is_none()
        && bead.status.value.status != Status::Closed
}

/// How long a claim's lease was when it was last made longer, or less: a stamp that had to beat one of a clock ahead is later
/// than that moment.
pub(super) fn lease_of(bead: &Bead) -> u64 {
    let end = bead.claim.expires.map_or(0, Timestamp::ms);
    end.saturating_sub(bead.claim.expires_mark.at().ms()).max(1)
}

/// What is left of the lease of a claim that was made here: no other wall clock has to do with it.
pub(super) fn left_of(bead: &Bead, now_ms: u64) -> u64 {
    bead.claim.expires.map_or(0, Timestamp::ms).saturating_sub(now_ms)
}

/// The last stamp that says that a bead is closed or deleted.
pub(super) fn closed_at(bead: &Bead) -> Stamp {
    let deleted = bead.deletion.as_ref().map(|deletion| deletion.mark.at());
    deleted.map_or(bead.status.mark.at(), |deleted| deleted.max(bead.status.mark.at()))
}
