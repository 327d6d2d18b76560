//! The status of a claim in the store.

use beads_core::{Bead, Stamp, Status, Timestamp};

/// What the store says about a claim whose ref is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimStatus {
    /// It holds the bead.
    Current,
    /// It has ended.
    Ended,
    /// A claim of another machine, without a ref, overwrote it.
    Overwritten,
}

/// Returns whether the claim with this fence holds the bead.
pub(super) fn is_current(bead: &Bead, fence: Stamp, now_ms: u64) -> bool {
    bead.claim.fence() == Some(fence)
        && bead.claim.is_taken()
        && !bead.claim.expired(now_ms)
        && bead.deletion.is_none()
        && bead.status.value.status != Status::Closed
}

/// Returns the length of a claim's lease when it was last extended, or less: a stamp that had to exceed one
/// from a fast clock is later than that moment.
pub(super) fn lease_of(bead: &Bead) -> u64 {
    let end = bead.claim.expires.map_or(0, Timestamp::ms);
    end.saturating_sub(bead.claim.expires_mark.at().ms()).max(1)
}

/// Returns the remaining lease of a claim that was made here, so only this machine's wall clock is involved.
pub(super) fn remaining_lease(bead: &Bead, now_ms: u64) -> u64 {
    bead.claim.expires.map_or(0, Timestamp::ms).saturating_sub(now_ms)
}

/// Returns the last stamp that closed or deleted a bead.
pub(super) fn closed_at(bead: &Bead) -> Stamp {
    let deleted = bead.deletion.as_ref().map(|deletion| deletion.mark.at());
    deleted.map_or(bead.status.mark.at(), |deleted| deleted.max(bead.status.mark.at()))
}
