//! The outcome of moving a claim ref.

use std::collections::BTreeSet;
use std::sync::Arc;

use beads_core::{ClaimRecord, Stamp};

use super::uptime::Uptime;
use super::watch::Watch;
use crate::Error;
use crate::claim_refs::{ClaimListing, ClaimValue, RefChange, Swapped};
use crate::repository::CommitId;

/// The outcome of one attempt.
#[derive(Debug)]
pub enum Outcome {
    /// The ref is ours. Its lease began at this time at the earliest.
    Won(CommitId, Uptime),
    /// The ref is ours, but the bead was closed or deleted on the remote before.
    WonButClosed,
    /// The ref is ours, but the remote's store could not be checked since. The bead may be closed there.
    WonUnchecked(Arc<Error>),
    /// Another claim holds the ref.
    Held(Option<ClaimRecord>),
    /// The fence must be higher than this one.
    FenceTooLow(Stamp),
    /// The server does not accept such refs.
    Refused(String),
    /// The local store is older than the remote's. Nothing was attempted.
    StoreBehind,
    /// The ref is no longer ours, so there is nothing to end.
    Gone,
}

impl Outcome {
    /// Returns whether the ref was moved.
    pub fn is_won(&self) -> bool {
        matches!(self, Self::Won(..) | Self::WonButClosed | Self::WonUnchecked(..))
    }
}

/// Returns the value that a ref must have for a record to replace it, or why the record must not.
pub(super) fn expected(
    name: &str,
    record: &ClaimRecord,
    seen: &ClaimListing,
    own: &BTreeSet<String>,
    (watch, now): (&Watch, &Uptime),
) -> Result<Option<CommitId>, Outcome> {
    let Some(value) = seen.refs.get(name) else { return Ok(None) };
    let known = value.record.as_ref();
    let is_free = known.is_some_and(|known| !known.is_live() || own.contains(&known.claim));
    if !is_free && !watch.has_expired(name, value, now) {
        return Err(Outcome::Held(value.record.clone()));
    }
    match known {
        Some(known) if known.claim != record.claim && known.fence >= record.fence => {
            Err(Outcome::FenceTooLow(known.fence))
        }
        _ => Ok(Some(value.commit.clone())),
    }
}

/// Turns the result of a compare-and-swap into an outcome.
pub(super) fn outcome(change: &RefChange, swapped: Swapped, began: &Uptime, seen: &ClaimListing) -> Outcome {
    let holder = |value: &ClaimValue| value.record.clone().filter(ClaimRecord::is_live);
    match swapped {
        Swapped::Done => Outcome::Won(change.new.clone().unwrap_or_default(), began.clone()),
        Swapped::Lost(_) => Outcome::Held(seen.refs.get(&change.name).and_then(holder)),
        Swapped::Refused(reason) => Outcome::Refused(reason),
    }
}
