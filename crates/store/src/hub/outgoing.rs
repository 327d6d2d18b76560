//! What a replica has to append to the hub.

use beads_core::{Actor, Bead, Delta, Lineage, Stamp, State, Status};
use serde::Serialize;

use super::{HUB_TAG, HubCopy};
use crate::Result;
use crate::hub::encode_payload;

/// The size of one append. Larger changes, such as an import, are appended in parts, each of which has to arrive
/// within the time of a call.
const PART_BYTES: usize = 2 * 1024 * 1024;

/// A change to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The change.
    pub delta: Delta,
    /// The encoded change.
    pub payload: Vec<u8>,
    /// What it says about claims, for the hub's own table.
    pub claims: Vec<ClaimNews>,
}

/// What happened to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimNewsState {
    /// It is held, or was renewed.
    Held,
    /// It was released.
    Released,
    /// Its bead was closed or deleted.
    Closed,
}

/// A claim that a machine holds or has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClaimNews {
    /// The bead, as canonical JSON.
    pub lineage: String,
    /// What happened.
    pub state: ClaimNewsState,
    /// The holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Actor>,
    /// The milliseconds of the fence.
    pub ms: u64,
    /// The counter of the fence.
    pub counter: u32,
    /// How much of the lease is left, by the clock of this machine.
    pub left_ms: u64,
}

impl ClaimNews {
    fn new(lineage: &Lineage, state: ClaimNewsState, fence: Stamp) -> Self {
        let (ms, counter) = (fence.ms(), fence.counter());
        Self { lineage: lineage_key(lineage), state, holder: None, ms, counter, left_ms: 0 }
    }

    fn held(lineage: &Lineage, bead: &Bead, now_ms: u64) -> Option<Self> {
        let left_ms = bead.claim.expires?.ms().checked_sub(now_ms).filter(|left| *left > 0)?;
        let holder = Some(bead.claim.assignee.clone()?);
        Some(Self { holder, left_ms, ..Self::new(lineage, ClaimNewsState::Held, bead.claim.fence()?) })
    }
}

/// Returns the key of a bead in the hub's tables.
pub fn lineage_key(lineage: &Lineage) -> String {
    serde_json::to_string(lineage).unwrap_or_default()
}

impl HubCopy {
    /// Returns the first part of what `state` has beyond the copy; `None` if there is nothing.
    pub fn outgoing(&self, state: &State, now_ms: u64) -> Result<Option<Outgoing>> {
        let all = Delta::between(self.state(), state);
        if all.is_empty() {
            return Ok(None);
        }
        let (delta, payload) = first_part(all)?;
        let news = |lineage: &Lineage| {
            let (old, new) = (self.state().bead(lineage).map(AsRef::as_ref), state.bead(lineage)?);
            // A release frees only a claim that its writer knew.
            let is_outrun = |news: &ClaimNews| {
                let fence = old.and_then(|old| old.claim.fence());
                news.state == ClaimNewsState::Released
                    && fence.is_some_and(|fence| self.is_outrun(lineage, fence, &new.claim.mark))
            };
            claim_news(lineage, old, new, now_ms).filter(|news| !is_outrun(news))
        };
        let claims = delta.beads.keys().filter_map(news).collect();
        Ok(Some(Outgoing { delta, payload, claims }))
    }

    /// Returns the live claims that a state knows, to be repeated when a machine attaches. After a failover
    /// the hub may have lost them.
    pub fn live_claims(state: &State, now_ms: u64) -> Vec<ClaimNews> {
        let live = state.beads().iter().filter(|(_, bead)| {
            let granted = bead.claim.fence().is_some_and(is_hub_fence);
            granted && is_open(bead)
        });
        live.filter_map(|(lineage, bead)| ClaimNews::held(lineage, bead, now_ms)).collect()
    }
}

/// Returns the first part of a change, and its encoding. To split a change, it has to be encoded once more.
fn first_part(all: Delta) -> Result<(Delta, Vec<u8>)> {
    let payload = encode_payload(&all)?;
    if payload.len() <= PART_BYTES {
        return Ok((all, payload));
    }
    let part = all.split(PART_BYTES).into_iter().next().unwrap_or_default();
    let payload = encode_payload(&part)?;
    Ok((part, payload))
}

/// Returns whether a fence was granted by a hub.
pub fn is_hub_fence(fence: Stamp) -> bool {
    (fence.counter() & 0xffff) as u16 == HUB_TAG
}

fn is_open(bead: &Bead) -> bool {
    bead.deletion.is_none() && bead.status.value.status != Status::Closed
}

/// Returns what a change says about the claim on a bead.
fn claim_news(lineage: &Lineage, old: Option<&Bead>, new: &Bead, now_ms: u64) -> Option<ClaimNews> {
    let last = new.claim.mark.at();
    if !is_open(new) {
        let was_open = old.is_none_or(is_open);
        return was_open.then(|| ClaimNews::new(lineage, ClaimNewsState::Closed, last));
    }
    let old_claim = old.map(|old| &old.claim);
    if old_claim == Some(&new.claim) {
        return None;
    }
    if new.claim.is_taken() {
        return ClaimNews::held(lineage, new, now_ms);
    }
    let fence = old_claim.and_then(beads_core::Claim::fence)?;
    Some(ClaimNews::new(lineage, ClaimNewsState::Released, fence))
}
