//! What may replace the value of a claim ref, and what the remote's answer means.

use std::collections::BTreeSet;
use std::sync::Arc;

use beads_core::{ClaimRecord, Stamp};

use super::uptime::Uptime;
use super::watch::Watch;
use crate::Error;
use crate::claim_refs::{ClaimValue, ClaimsSeen, RefChange, Swapped};
use crate::repository::CommitId;

/// What came of one attempt.
#[derive(Debug)]
pub enum Outcome {
    /// The ref is ours; its lease began at this moment at the earliest.
    Won(CommitId, Uptime),
    /// The ref is ours, and the bead was closed or deleted on the remote before.
    WonTooLate,
    /// The ref is ours, and the remote's store could not be looked at since: the bead may be over there.
    WonUnseen(Arc<Error>),
    /// Another claim holds it.
    Held(Option<ClaimRecord>),
    /// The fence must be higher than this one.
    Low(Stamp),
    /// The server does not take such refs.
    Refused(String),
    /// The store here is older than the remote's; nothing was tried.
    Behind,
    /// The ref is not ours any more, so there is nothing to end.
    Gone,
}

impl Outcome {
    /// Whether the ref was moved.
    pub fn is_won(&self) -> bool {
        matches!(self, Self::Won(..) | Self::WonTooLate | Self::WonUnseen(..))
    }
}

/// Where a ref must be for a record to replace its value, or why the record must not.
pub(super) fn expected(
    name: &str,
    record: &ClaimRecord,
    seen: &ClaimsSeen,
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
            Err(Outcome::Low(known.fence))
        }
        _ => Ok(Some(value.commit.clone())),
    }
}

pub(super) fn outcome(change: &RefChange, swapped: Swapped, began: &Uptime, seen: &ClaimsSeen) -> Outcome {
    let holder = |value: &ClaimValue| value.record.clone().filter(ClaimRecord::is_live);
    match swapped {
        Swapped::Done => Outcome::Won(change.new.clone().unwrap_or_default(), began.clone()),
        Swapped::Lost(_) => Outcome::Held(seen.refs.get(&change.name).and_then(holder)),
        Swapped::Refused(reason) => Outcome::Refused(reason),
    }
}
