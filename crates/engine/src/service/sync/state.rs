use std::io::Write;
use std::path::{Path, PathBuf};

use beads_store::Replacement;
use serde::{Deserialize, Serialize};

use super::Reach;
use super::job::Exchanged;
use crate::failure::{Code, Failure};

/// What is known about the remote, kept in `sync-state.json` for `bd status`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncState {
    /// The remote of the last exchange.
    pub remote: Option<String>,
    /// When the last exchange succeeded.
    pub last_success_ms: Option<u64>,
    /// When the remote's store was last fetched without a push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched_ms: Option<u64>,
    /// All mutations up to this position are on the remote.
    pub pushed_position: u64,
    /// When the first mutation was made that is not on the remote.
    pub first_unpushed_ms: Option<u64>,
    /// The error of the last exchange, if it failed.
    pub last_error: Option<SyncError>,
    /// The remote to which the store may be published, because a user asked for a sync.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<String>,
    /// The last exchange found no store on the remote and did not publish one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
    /// The user has been informed that the store is local only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub said_local_only: bool,
    /// When the remote was asked for a store and had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_ms: Option<u64>,
    /// When the last commit of another clone was made, by that clone's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_ms: Option<u64>,
    /// When the remote was asked for a store and did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_in_vain_ms: Option<u64>,
}

/// A failing exchange.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SyncError {
    /// The error code.
    pub code: Code,
    /// The error message.
    pub message: String,
    /// When the first attempt failed.
    pub since_ms: u64,
    /// The number of failed attempts.
    pub attempts: u64,
}

impl SyncState {
    fn path(store_dir: &Path) -> PathBuf {
        store_dir.join("sync-state.json")
    }

    /// Reads the state. It is informational, so a missing or damaged file is treated as empty.
    pub fn load(store_dir: &Path) -> Self {
        let bytes = std::fs::read(Self::path(store_dir)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub(in crate::service) fn save(&self, store_dir: &Path) {
        let path = Self::path(store_dir);
        let bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        // Private, because error messages of a remote may be sensitive.
        let begun = Replacement::private(&path, path.with_extension("tmp"));
        let _ = begun.and_then(|mut next| next.write_all(&bytes).and_then(|()| next.publish()));
    }

    /// Records the result of an exchange. The positions are those of the exchanged checkpoint and of the last
    /// change.
    pub(super) fn note(&mut self, exchanged: &Exchanged, positions: (u64, u64), now_ms: u64) {
        if exchanged.reach.asks_remote() {
            self.remote.clone_from(&exchanged.remote);
        }
        let reached = exchanged.remote.is_some();
        match &exchanged.outcome {
            Ok(_) if reached && exchanged.reach == Reach::Fetch => self.fetched_ms = Some(now_ms),
            Ok(_) if exchanged.withheld => (self.withheld, self.last_error) = (true, None),
            Ok(_) if reached => {
                self.withheld = false;
                self.last_success_ms = Some(now_ms);
                self.pushed_position = positions.0;
                self.last_error = None;
                self.first_unpushed_ms = (positions.1 > positions.0).then_some(now_ms);
            }
            Ok(_) => {}
            Err(failure) => self.note_failure(failure, now_ms),
        }
        self.foreign_ms = self.foreign_ms.max(exchanged.foreign_ms.map(|ms| ms.min(now_ms)));
    }

    fn note_failure(&mut self, failure: &Failure, now_ms: u64) {
        let known = self.last_error.take();
        let (since_ms, attempts) = known.map_or((now_ms, 0), |error| (error.since_ms, error.attempts));
        let (code, message) = (failure.code.clone(), failure.message.clone());
        self.last_error = Some(SyncError { code, message, since_ms, attempts: attempts + 1 });
    }
}
