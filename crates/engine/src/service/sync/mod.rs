//! Saves to the ref and exchanges it with the remote.

mod job;
mod plan;
mod state;

pub use job::{SyncJob, SyncResult};
pub(super) use plan::NO_REMOTE;
pub use plan::{Reach, SyncPlan};
pub use state::SyncState;

use beads_core::Op;
use beads_core::op::CollectGarbage;
use beads_store::Repository;

use super::Service;
use crate::failure::Failure;
use crate::render::{Answer, SyncAnswer, VerifyAnswer};
use crate::request::Request;

impl Service {
    /// Runs a requested sync in this thread, unless the same request was answered before.
    pub(super) fn sync(&mut self, request: &Request) -> Result<Answer, Failure> {
        if let Some(answer) = self.cached_sync_answer(request)? {
            return Ok(Answer::Synced(answer));
        }
        self.consent();
        let answer = self.sync_now()?;
        self.cache_sync_answer(request, &answer)?;
        Ok(Answer::Synced(answer))
    }

    /// Returns the answer to an earlier sync with the same request id. A failed sync has none, so it is
    /// retried.
    pub fn cached_sync_answer(&mut self, request: &Request) -> Result<Option<SyncAnswer>, Failure> {
        self.identify(request, &request.call)?;
        self.cached_answer(&self.caller(request, 0))
    }

    /// Records the answer to a sync under its request id.
    pub fn cache_sync_answer(&mut self, request: &Request, answer: &SyncAnswer) -> Result<(), Failure> {
        self.identify(request, &request.call)?;
        let cached = serde_json::to_value(answer).map_err(Failure::internal)?;
        let caller = self.caller(request, 0);
        Ok(self.replica.cache_answer(&caller, cached)?)
    }

    /// Runs a sync that was asked for, in this thread.
    pub(super) fn sync_now(&mut self) -> Result<SyncAnswer, Failure> {
        self.run_sync(Reach::Remote { asked: true })
    }

    /// Runs a sync that was not asked for, in this thread: it does not publish the store to a remote that has
    /// none.
    pub(super) fn sync_unasked(&mut self) -> Result<SyncAnswer, Failure> {
        self.run_sync(Reach::Remote { asked: false })
    }

    /// Fetches and merges the remote's store, in this thread.
    pub(super) fn fetch_now(&mut self) -> Result<SyncAnswer, Failure> {
        self.run_sync(Reach::Fetch)
    }

    /// Saves to the local ref, without contacting the remote.
    pub(super) fn save(&mut self) -> Result<Answer, Failure> {
        self.checkpoint().map(Answer::Synced)
    }

    /// Returns whether the last sync found a remote, or failed before it could tell.
    pub fn has_remote(&self) -> bool {
        self.sync_state.remote.is_some() || self.sync_state.last_error.is_some()
    }

    /// Returns where the remote is and how to reach it.
    pub fn sync_plan(&self) -> SyncPlan {
        let plan = SyncPlan::new(&self.place.git_dir, self.identity.clone(), &self.config);
        plan.with_consent(self.sync_state.consent.clone())
    }

    /// Records since when changes have been waiting for the remote, while the journal still knows.
    pub(super) fn note_unsynced(&mut self) {
        let is_waiting = self.replica.position() > self.sync_state.pushed_position;
        if is_waiting && self.sync_state.first_unpushed_ms.is_none() {
            let since = self.replica.unsaved().oldest_ms.unwrap_or_else(|| self.replica.now_ms());
            self.sync_state.first_unpushed_ms = Some(since);
            self.sync_state.save(&self.place.store_dir());
        }
    }

    /// Raises the garbage-collection floor, if `gc.tombstone_ttl` is set.
    fn collect_garbage(&mut self) -> Result<(), Failure> {
        let Some(ttl) = self.config.tombstone_ttl()? else { return Ok(()) };
        let newest_foreign_ms = self.replica.newest_foreign_ms()?;
        let op = Op::CollectGarbage(CollectGarbage { ttl_ms: super::millis(ttl), newest_foreign_ms });
        let caller = beads_store::Caller {
            actor: "bd".parse()?,
            branch: Default::default(),
            lease_ms: 0,
            request: None,
        };
        self.replica.apply(&op, &caller)?;
        Ok(self.replica.commit()?)
    }

    /// Returns a fingerprint of the whole state.
    pub(super) fn verify(&self) -> Answer {
        let catalog = self.replica.catalog();
        Answer::Verified(VerifyAnswer {
            fingerprint: catalog.state().encode().fingerprint(),
            commit: self.repository.tip().ok().flatten(),
            beads: catalog.live_count(),
            deleted: catalog.deleted().count(),
            conflicts: catalog.state().conflicts().len(),
        })
    }
}
