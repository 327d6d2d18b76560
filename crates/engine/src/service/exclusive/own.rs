//! What this clone knows of claim refs, kept over restarts in `claim-refs.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use beads_core::{Actor, ClaimRecord, ClaimState, Lineage, Stamp, Timestamp};
use beads_store::{ClaimValue, ClaimsSeen, CommitId};
use serde::{Deserialize, Serialize};

use super::watch::{Watch, Watched};
use crate::replace_file::replace_file;
use crate::uptime::Uptime;

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
    pub fn is_safe(&self) -> bool {
        let age = self.pushed.as_ref().and_then(|(_, at)| at.elapsed_ms());
        age.is_some_and(|age| age < self.lease_ms)
    }

    /// Whether half of the lease is over since the ref was put there.
    pub fn is_half_over(&self) -> bool {
        let age = self.pushed.as_ref().and_then(|(_, at)| at.elapsed_ms());
        age.is_none_or(|age| age >= self.lease_ms / 2)
    }
}

/// A server that does not let claim refs be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedRefs {
    pub prefix: String,
    pub reason: String,
    pub since_ms: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    machine: String,
    own: BTreeMap<String, Own>,
    watched: BTreeMap<String, Watched>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<RefusedRefs>,
}

/// The claims of this clone by claim id, and what was last seen of all.
#[derive(Debug, Default)]
pub struct ClaimRefs {
    path: PathBuf,
    /// What this clone is called where machines are spread over the work.
    pub machine: String,
    pub own: BTreeMap<String, Own>,
    pub watch: Watch,
    pub refused: Option<RefusedRefs>,
    /// As of the last look.
    pub seen: BTreeMap<String, ClaimValue>,
    /// Claims under way in another thread.
    pub in_flight: BTreeSet<String>,
    /// Claims made here without the remote, to be confirmed when it can be reached.
    pub made: BTreeMap<Stamp, Lineage>,
}

impl ClaimRefs {
    /// A file that is not there or cannot be read knows nothing: then the claims in it are those of a stranger, and safe.
    pub fn load(store_dir: &Path) -> Self {
        let path = store_dir.join("claim-refs.json");
        let bytes = std::fs::read(&path).unwrap_or_default();
        let stored: Stored = serde_json::from_slice(&bytes).unwrap_or_default();
        let fresh = || format!("{:016x}", getrandom::u64().unwrap_or_default());
        let machine = if stored.machine.is_empty() { fresh() } else { stored.machine };
        Self {
            path,
            machine,
            own: stored.own,
            watch: Watch::new(stored.watched),
            refused: stored.refused,
            ..Self::default()
        }
    }

    pub fn save(&self) {
        let stored = Stored {
            machine: self.machine.clone(),
            own: self.own.clone(),
            watched: self.watch.all(),
            refused: self.refused.clone(),
        };
        let bytes = serde_json::to_vec_pretty(&stored).map_err(std::io::Error::other);
        if let Err(error) = bytes.and_then(|bytes| replace_file(&self.path, &bytes)) {
            crate::log::note(&format!("cannot write {}: {error}", self.path.display()));
        }
    }

    /// Takes note of a look at the remote.
    pub fn saw(&mut self, seen: ClaimsSeen) {
        self.watch.note(&seen);
        self.seen = seen.refs;
    }

    /// Whether another machine's claim on a bead runs, as far as is known here.
    pub fn is_held_elsewhere(&self, lineage: &Lineage) -> bool {
        let name = lineage.claim_name();
        self.seen.get(&name).is_some_and(|value| {
            let ended = value
                .record
                .as_ref()
                .is_some_and(|record| !record.is_live() || self.own.contains_key(&record.claim));
            !ended && !self.watch.has_expired(&name, value)
        })
    }

    /// The claim of this clone on a bead under a fence.
    pub fn of(&self, lineage: &Lineage, fence: Stamp) -> Option<(&String, &Own)> {
        self.own.iter().find(|(_, own)| own.lineage == *lineage && own.fence == fence)
    }

    /// The fence that a claim has now; fences of nobody's claim here stay as they are.
    pub fn current(&self, fence: Stamp) -> Stamp {
        self.own.values().find(|own| own.earlier.contains(&fence)).map_or(fence, |own| own.fence)
    }
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
}
