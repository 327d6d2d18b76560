//! How long each claim ref has had its value, by this machine's own clock. Clocks of different machines are
//! never compared.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::uptime::Uptime;
use crate::claim_refs::{ClaimListing, ClaimValue};
use crate::repository::CommitId;

/// The assumed lease of a value that cannot be read.
const UNREADABLE_LEASE_MS: u64 = 24 * 60 * 60 * 1000;

/// How long each claim ref has had its value. Shared between the service and the threads that contact the
/// remote.
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
    /// Returns a watch with values that were saved before.
    pub fn new(watched: BTreeMap<String, Watched>) -> Self {
        Self(Arc::new(Mutex::new(watched)))
    }

    /// Returns all watched values, to be saved.
    pub fn all(&self) -> BTreeMap<String, Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts to watch new values, and forgets those that are gone.
    pub fn note(&self, seen: &ClaimListing, now: &Uptime) {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|name, known| {
            let same = seen.refs.get(name).is_some_and(|value| value.commit == known.commit);
            same && known.since.elapsed_ms(now).is_some()
        });
        for (name, value) in &seen.refs {
            watched
                .entry(name.clone())
                .or_insert_with(|| Watched { commit: value.commit.clone(), since: now.clone() });
        }
    }

    /// Returns whether exactly this value was watched for the whole length of its lease.
    pub(crate) fn has_expired(&self, name: &str, value: &ClaimValue, now: &Uptime) -> bool {
        let lease_ms = value.record.as_ref().map_or(UNREADABLE_LEASE_MS, |record| record.lease_ms);
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.get(name).is_some_and(|known| {
            known.commit == value.commit && known.since.elapsed_ms(now).is_some_and(|ms| ms > lease_ms)
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

    fn seen(value: &ClaimValue) -> ClaimListing {
        ClaimListing { tip: None, refs: BTreeMap::from([("n".to_owned(), value.clone())]) }
    }

    #[test]
    fn only_the_same_value_for_a_whole_lease_has_expired() {
        let (watch, at) = (Watch::default(), |ms| Uptime::new("run", ms));
        let first = value("1", 5);
        assert!(!watch.has_expired("n", &first, &at(100)), "never seen");
        watch.note(&seen(&first), &at(0));
        watch.note(&seen(&first), &at(5));
        assert!(!watch.has_expired("n", &first, &at(5)));
        assert!(watch.has_expired("n", &first, &at(6)));
        assert!(!watch.has_expired("n", &value("2", 5), &at(6)), "not the value that was watched");
        watch.note(&seen(&value("2", 5)), &at(6));
        assert!(!watch.has_expired("n", &value("2", 5), &at(11)), "the watch starts over");
        assert!(watch.has_expired("n", &value("2", 5), &at(12)));
        assert!(!watch.has_expired("n", &value("2", 5), &Uptime::new("another", 99)), "another boot");
        watch.note(&ClaimListing::default(), &at(12));
        assert!(watch.all().is_empty());
    }
}
