use beads_core::{Actor, ClaimRecord, ClaimState, Lineage, Stamp, Timestamp};
use serde::{Deserialize, Serialize};

use super::uptime::Uptime;
use crate::repository::CommitId;

/// A claim of this clone and its ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Own {
    pub lineage: Lineage,
    pub holder: Actor,
    /// The fence of the claim in the store.
    pub fence: Stamp,
    /// Fences that the claim had before. They are still good: another machine's claim that lost was overwritten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Stamp>,
    pub lease_ms: u64,
    /// Where the ref was put last, and when; absent while that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed: Option<(CommitId, Uptime)>,
    /// The end of the lease in the store when that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// When the claim was tried, by the wall clock.
    pub since_ms: u64,
}

impl Own {
    /// A claim whose ref is about to be tried.
    pub fn tried(record: &ClaimRecord, now_ms: u64) -> Self {
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

    /// Whether no other machine can have taken the ref over: its lease runs from when it was pushed.
    pub fn is_safe(&self, now: &Uptime) -> bool {
        let age = self.pushed.as_ref().and_then(|(_, at)| at.elapsed_ms(now));
        age.is_some_and(|age| age < self.lease_ms)
    }

    /// Whether half of the lease is over since the ref was put there.
    pub fn is_half_over(&self, now: &Uptime) -> bool {
        let age = self.pushed.as_ref().and_then(|(_, at)| at.elapsed_ms(now));
        age.is_none_or(|age| age >= self.lease_ms / 2)
    }
}
