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
    /// Whether the claim was granted to this machine, or made by it. Others are repeated, too, but only their own
    /// machine may be granted them again.
    pub own: bool,
    /// The end of the lease by the clock of the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// How much of the lease is left, as far as this machine knows. Hubs that know `until_ms` ignore it.
    pub left_ms: u64,
}

impl ClaimNews {
    fn new(lineage: &Lineage, state: ClaimNewsState, fence: Stamp) -> Self {
        let (ms, counter) = (fence.ms(), fence.counter());
        let lineage = lineage_key(lineage);
        Self { lineage, state, holder: None, ms, counter, own: true, until_ms: None, left_ms: 0 }
    }

    /// Returns the news of a claim. `left_ms` is what is left of its lease at the given time.
    fn held(lineage: &Lineage, bead: &Bead, now_ms: u64) -> Option<Self> {
        let until_ms = bead.claim.expires?.ms();
        let left_ms = until_ms.saturating_sub(now_ms);
        let holder = Some(bead.claim.assignee.clone()?);
        let news = Self::new(lineage, ClaimNewsState::Held, bead.claim.fence()?);
        Some(Self { holder, until_ms: Some(until_ms), left_ms, ..news })
    }
}

/// Returns the key of a bead in the hub's tables.
pub fn lineage_key(lineage: &Lineage) -> String {
    serde_json::to_string(lineage).unwrap_or_default()
}

impl HubCopy {
    /// Returns the first part of what `state` has beyond the copy; `None` if there is nothing.
    /// `hub_ms` is the time of the hub.
    pub fn outgoing(&self, state: &State, hub_ms: u64) -> Result<Option<Outgoing>> {
        let all = Delta::between(self.state(), state);
        if all.is_empty() {
            return Ok(None);
        }
        let (delta, payload) = first_part(all)?;
        let news = |lineage: &Lineage| {
            let (old, new) = (self.state().bead(lineage).map(AsRef::as_ref), state.bead(lineage));
            // A release frees only a claim that its writer knew.
            let is_outrun = new.is_some_and(|new| {
                let fence = old.and_then(|old| old.claim.fence());
                fence.is_some_and(|fence| self.is_outrun(lineage, fence, &new.claim.mark))
            });
            let news = new.map(|new| claim_news(lineage, old, new, hub_ms)).unwrap_or_default();
            news.into_iter().filter(move |news| news.state != ClaimNewsState::Released || !is_outrun)
        };
        let claims = delta.beads.keys().flat_map(news).collect();
        Ok(Some(Outgoing { delta, payload, claims }))
    }

    /// Returns the live claims that a state knows, to be repeated when a machine attaches. After a failover
    /// the hub may have lost them. If `is_hub_time` is false, `now_ms` is the time of this machine, and only the hub
    /// can say which claims are over.
    pub fn live_claims(state: &State, now_ms: u64, is_hub_time: bool) -> Vec<ClaimNews> {
        let live = state.beads().iter().filter(|(_, bead)| {
            let granted = bead.claim.fence().is_some_and(is_hub_fence);
            granted && is_open(bead)
        });
        let held = live.filter_map(|(lineage, bead)| ClaimNews::held(lineage, bead, now_ms));
        held.filter(|held| held.left_ms > 0 || !is_hub_time).collect()
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
    is_hub_counter(fence.counter())
}

/// Returns whether the counter of a fence is one that a hub grants.
pub(super) fn is_hub_counter(counter: u32) -> bool {
    (counter & 0xffff) as u16 == HUB_TAG
}

pub(super) fn is_open(bead: &Bead) -> bool {
    bead.deletion.is_none() && bead.status.value.status != Status::Closed
}

/// Returns what a change says about the claim on a bead, in the order in which the hub has to record it.
fn claim_news(lineage: &Lineage, old: Option<&Bead>, new: &Bead, hub_ms: u64) -> Vec<ClaimNews> {
    let last = new.claim.mark.at();
    if !is_open(new) {
        let was_open = old.is_none_or(is_open);
        return was_open.then(|| ClaimNews::new(lineage, ClaimNewsState::Closed, last)).into_iter().collect();
    }
    let old_claim = old.map(|old| &old.claim);
    // The close of a bead ended its claim at the hub. Reopened, the bead may have the claim that it had before.
    let was_reopened = old.is_some_and(|old| !is_open(old));
    if old_claim == Some(&new.claim) && !was_reopened {
        return Vec::new();
    }
    let is_replaced = old_claim.is_none_or(|old| old.mark != new.claim.mark);
    let ended = old_claim.and_then(beads_core::Claim::fence);
    let ended = ended.map(|fence| ClaimNews::new(lineage, ClaimNewsState::Released, fence));
    if !new.claim.is_taken() {
        return ended.filter(|_| is_replaced).into_iter().collect();
    }
    // A handover may end the claim of another machine.
    let handed_over = ended.filter(|_| is_replaced && new.is_handover());
    let held = ClaimNews::held(lineage, new, hub_ms).filter(|held| held.left_ms > 0);
    handed_over.into_iter().chain(held).collect()
}
