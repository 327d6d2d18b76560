//! A claim round: one listing of the remote's claim refs and one push, in a separate thread.

use beads_store::{GitRepository, Round, SystemUptime};

use super::job::ClaimJob;
use crate::failure::Failure;
use crate::service::{Service, SyncPlan};

pub use beads_store::RoundResult;

/// After a fetch within this time, candidates are chosen without another fetch.
const FRESH_MS: u64 = 2_000;

/// Everything that a thread needs to run a round.
#[derive(Debug)]
pub struct ClaimRound {
    plan: SyncPlan,
    round: Round,
}

impl Service {
    /// Returns the round in which these jobs try the beads they have chosen.
    pub fn claim_round(&self, jobs: &[&ClaimJob]) -> ClaimRound {
        let mut plan = self.sync_plan();
        plan.deadline = self.config().duration("claim.timeout");
        let attempts = jobs.iter().filter_map(|job| job.attempt.clone()).collect();
        let now_ms = self.replica.now_ms();
        let fetched = self.sync_state.fetched_ms.max(self.sync_state.last_success_ms);
        let fresh = fetched.is_some_and(|ms| ms.saturating_add(FRESH_MS) > now_ms);
        let require_current = !fresh && jobs.iter().any(|job| job.is_next() && !job.exchanged);
        let round = self.claim_refs.book.round(&self.replica, self.ref_prefix(), attempts, require_current);
        ClaimRound { plan, round }
    }
}

impl ClaimRound {
    /// Runs the round.
    pub fn run(&self) -> Result<RoundResult, Failure> {
        let repository = GitRepository::open(self.plan.git_dir())?;
        let remote = self.plan.guarded(self.plan.open_remote()?);
        Ok(self.round.run(&repository, &remote, &SystemUptime)?)
    }
}
