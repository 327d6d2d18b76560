//! How long each claim ref has kept its value, by this machine's own clock. No two clocks are ever compared.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use beads_store::{ClaimValue, ClaimsSeen, CommitId};
use serde::{Deserialize, Serialize};

use crate::uptime::Uptime;

/// A value that cannot be read says nothing of its lease.
const UNREADABLE_LEASE_MS: u64 = 24 * 60 * 60 * 1000;

/// Shared between the service and the threads that look at the remote.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<Mutex<BTreeMap<String, Watched>>>);

/// A value, and when it was first seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    commit: CommitId,
    since: Uptime,
}

impl Watch {
    pub fn new(watched: BTreeMap<String, Watched>) -> Self {
        Self(Arc::new(Mutex::new(watched)))
    }

    pub fn all(&self) -> BTreeMap<String, Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins to watch values that are new, and forgets those that are gone.
    pub fn note(&self, seen: &ClaimsSeen) {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|name, known| {
            let same = seen.refs.get(name).is_some_and(|value| value.commit == known.commit);
            same && known.since.elapsed_ms().is_some()
        });
        for (name, value) in &seen.refs {
            watched
                .entry(name.clone())
                .or_insert_with(|| Watched { commit: value.commit.clone(), since: Uptime::now() });
        }
    }

    /// Whether this very value was watched for the whole length of its lease.
    pub fn has_expired(&self, name: &str, value: &ClaimValue) -> bool {
        let lease_ms = value.record.as_ref().map_or(UNREADABLE_LEASE_MS, |record| record.lease_ms);
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.get(name).is_some_and(|known| {
            known.commit == value.commit && known.since.elapsed_ms().is_some_and(|ms| ms > lease_ms)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(commit: &str, lease_ms: u64) -> ClaimValue {
        let at = beads_core::Stamp::decode(1, 7).unwrap();
        let lineage = beads_core::Lineage::new("bd-1".parse().unwrap(), at, "bob".parse().unwrap());
        let record = beads_core::ClaimRecord {
            claim: "c".into(),
            fence: at,
            holder: "ann".parse().unwrap(),
            lease_ms,
            lineage,
            state: beads_core::ClaimState::Live,
        };
        ClaimValue { commit: commit.into(), record: Some(record) }
    }

    fn seen(value: &ClaimValue) -> ClaimsSeen {
        ClaimsSeen { tip: None, refs: BTreeMap::from([("n".to_owned(), value.clone())]) }
    }

    #[test]
    fn only_the_same_value_for_a_whole_lease_has_expired() {
        let watch = Watch::default();
        let first = value("1", 5);
        assert!(!watch.has_expired("n", &first), "never seen");
        watch.note(&seen(&first));
        assert!(!watch.has_expired("n", &value("1", 60_000)));
        while !watch.has_expired("n", &first) {
            std::thread::yield_now();
            watch.note(&seen(&first));
        }
        let renewed = value("2", 5);
        assert!(!watch.has_expired("n", &renewed), "another value than the one that was watched");
        watch.note(&seen(&value("2", 60_000)));
        assert!(!watch.has_expired("n", &value("2", 60_000)), "the watch begins anew");
        watch.note(&ClaimsSeen::default());
        assert!(watch.all().is_empty());
    }
}
