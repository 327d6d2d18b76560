//! Saving here and exchanging with the remote.

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
    /// Fetched, merged, pushed and seen, or the real error; in this thread.
    pub(super) fn sync(&mut self, request: &Request) -> Result<Answer, Failure> {
        if let Some(answer) = self.told_of_sync(request)? {
            return Ok(Answer::Synced(answer));
        }
        self.consent();
        let answer = self.sync_now()?;
        self.keep_told_of_sync(request, &answer)?;
        Ok(Answer::Synced(answer))
    }

    /// What the same request was told before. A sync that failed is tried again.
    pub fn told_of_sync(&mut self, request: &Request) -> Result<Option<SyncAnswer>, Failure> {
        self.identify(request, &request.call)?;
        self.told(&self.caller(request, 0))
    }

    pub fn keep_told_of_sync(&mut self, request: &Request, answer: &SyncAnswer) -> Result<(), Failure> {
        self.identify(request, &request.call)?;
        let told = serde_json::to_value(answer).map_err(Failure::internal)?;
        let caller = self.caller(request, 0);
        Ok(self.replica.keep_told(&caller, told)?)
    }

    pub(super) fn sync_now(&mut self) -> Result<SyncAnswer, Failure> {
        self.sync_here(Reach::Remote { asked: true })
    }

    /// The same for a command that did not ask for it: a remote without a store is not given one.
    pub(super) fn exchange_in_passing(&mut self) -> Result<SyncAnswer, Failure> {
        self.sync_here(Reach::Remote { asked: false })
    }

    /// Takes in what the remote has, in this thread.
    pub(super) fn fetch_now(&mut self) -> Result<SyncAnswer, Failure> {
        self.sync_here(Reach::Fetch)
    }

    /// Everything is on the local ref; the remote has its turn another time.
    pub(super) fn save(&mut self) -> Result<Answer, Failure> {
        self.checkpoint().map(Answer::Synced)
    }

    /// Whether the last sync found a remote, or may find one.
    pub fn has_remote(&self) -> bool {
        self.sync_state.remote.is_some() || self.sync_state.last_error.is_some()
    }

    pub fn sync_plan(&self) -> SyncPlan {
        let plan = SyncPlan::new(&self.place.git_dir, self.identity.clone(), &self.config);
        plan.with_consent(self.sync_state.consent.clone())
    }

    /// Takes note since when something waits for the remote, while the journal still knows.
    pub(super) fn note_unsynced(&mut self) {
        let is_waiting = self.replica.position() > self.sync_state.pushed_position;
        if is_waiting && self.sync_state.first_unpushed_ms.is_none() {
            let since = self.replica.unsaved().oldest_ms.unwrap_or_else(|| self.replica.now_ms());
            self.sync_state.first_unpushed_ms = Some(since);
            self.sync_state.save(&self.place.store_dir());
        }
    }

    /// Raises the floor of garbage collection, when that is configured.
    fn collect_garbage(&mut self) -> Result<(), Failure> {
        let Some(ttl) = self.config.tombstone_ttl()? else { return Ok(()) };
        let newest_foreign_ms = self.replica.newest_foreign_ms();
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
