//! A claim of this clone.
use beads_core::{Actor, ClaimRecord, ClaimState, Lineage, Stamp, Timestamp};
use serde::{Deserialize, Serialize};

use super::uptime::Uptime;
use crate::repository::CommitId;

/// A claim of this clone, and its ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnClaim {
    /// The claimed bead.
    pub lineage: Lineage,
    /// The holder of the claim.
    pub holder: Actor,
    /// The fence of the claim in the store.
    pub fence: Stamp,
    /// Previous fences of the claim, which stay valid. They were replaced when a losing claim of another
    /// machine was overwritten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Stamp>,
    /// The length of the lease.
    pub lease_ms: u64,
    /// The commit that the ref was last moved to, and when; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed: Option<(CommitId, Uptime)>,
    /// The end of the lease in the store at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// When the claim was first attempted, by the wall clock.
    pub since_ms: u64,
}

impl OwnClaim {
    /// Returns a claim that is about to be attempted.
    pub fn attempted(record: &ClaimRecord, now_ms: u64) -> Self {
        Self {
            lineage: record.lineage.clone(),
            holder: record.holder.clone(),
            fence: record.fence,
            earlier: Vec::new(),
            lease_ms: record.lease_ms,
            pushed: None,
            expires: None,
            since_ms: now_ms,
        }
    }

    /// Returns the value for the claim's ref.
    pub fn record(&self, claim: &str) -> ClaimRecord {
        ClaimRecord {
            claim: claim.to_owned(),
            fence: self.fence,
            holder: self.holder.clone(),
            lease_ms: self.lease_ms,
            lineage: self.lineage.clone(),
            state: ClaimState::Live,
        }
    }

    /// Returns whether no other machine can have taken over the ref, because its lease is still running since
    /// the push.
    pub fn is_safe(&self, now: &Uptime) -> bool {
        let age = self.pushed.as_ref().and_then(|(_, at)| at.elapsed_ms(now));
        age.is_some_and(|age| age < self.lease_ms)
    }

    /// Returns whether half of the lease has passed since the ref was pushed.
    pub(crate) fn is_half_over(&self, now: &Uptime) -> bool {
        let age = self.pushed.as_ref().and_then(|(_, at)| at.elapsed_ms(now));
        age.is_none_or(|age| age >= self.lease_ms / 2)
    }
}
