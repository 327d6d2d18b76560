//! One look at the remote's claim refs and one push of what is to be claimed, in a thread of its own.

use std::collections::BTreeSet;

use beads_core::{ClaimRecord, Stamp};
use beads_store::{
    ClaimRemote, ClaimValue, ClaimsSeen, CommitId, GitRepository, RefChange, Remote, Repository, Swapped,
};

use super::job::{Attempt, ClaimJob};
use super::watch::Watch;
use crate::failure::Failure;
use crate::service::{Service, SyncPlan};
use crate::uptime::Uptime;

/// A fetch so recent needs no other before candidates are chosen.
const FRESH_MS: u64 = 2_000;

/// Everything that a thread needs to try claims.
#[derive(Debug)]
pub struct ClaimRound {
    plan: SyncPlan,
    prefix: String,
    attempts: Vec<Attempt>,
    own: BTreeSet<String>,
    watch: Watch,
    /// The commit that the store here was last saved as or merged with.
    base: Option<CommitId>,
    /// Candidates must not be chosen from an older store than the remote's.
    careful: bool,
}

/// What came of a round.
#[derive(Debug)]
pub struct RoundResult {
    pub(super) seen: Option<ClaimsSeen>,
    pub(super) outcomes: Vec<Outcome>,
}

impl RoundResult {
    /// One outcome per attempt, in their order.
    pub fn into_outcomes(self) -> (Option<ClaimsSeen>, Vec<Outcome>) {
        (self.seen, self.outcomes)
    }
}

/// What came of one attempt.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The ref is ours; its lease began at this moment at the earliest.
    Won(CommitId, Uptime),
    /// The ref is ours, and the bead was closed or deleted on the remote before.
    WonTooLate,
    /// The ref is ours, and the remote's store could not be looked at since.
    WonUnseen(CommitId, Uptime, Box<Failure>),
    /// Another claim holds it.
    Held(Option<ClaimRecord>),
    /// The fence must be higher than this one.
    Low(Stamp),
    /// The server does not take such refs.
    Refused(String),
    /// The store here is older than the remote's; nothing was tried.
    Behind,
    /// The ref is not ours any more, so there is nothing to end.
    Gone,
}

impl Outcome {
    /// Whether the ref was moved.
    pub fn is_won(&self) -> bool {
        matches!(self, Self::Won(..) | Self::WonTooLate | Self::WonUnseen(..))
    }
}

impl Service {
    /// The round in which these jobs try what they have picked.
    pub fn claim_round(&self, jobs: &[&ClaimJob]) -> ClaimRound {
        let mut plan = self.sync_plan();
        plan.deadline = self.config().duration("claim.timeout");
        let attempts = jobs.iter().filter_map(|job| job.attempt.clone()).collect();
        let now_ms = self.replica.now_ms();
        let fetched = self.sync_state.fetched_ms.max(self.sync_state.last_success_ms);
        let fresh = fetched.is_some_and(|ms| ms.saturating_add(FRESH_MS) > now_ms);
        let careful = !fresh && jobs.iter().any(|job| job.is_next() && !job.exchanged);
        let base = self.replica.base().map(str::to_owned);
        ClaimRound {
            plan,
            prefix: self.ref_prefix(),
            attempts,
            own: self.claim_refs.own.keys().cloned().collect(),
            watch: self.claim_refs.watch.clone(),
            base,
            careful,
        }
    }
}

impl ClaimRound {
    pub fn run(&self) -> Result<RoundResult, Failure> {
        let repository = GitRepository::open(self.plan.git_dir())?;
        let remote = self.plan.guarded(self.plan.open_remote()?);
        let seen = remote.claims(&self.prefix)?;
        self.watch.note(&seen);
        if self.is_behind(&repository, &seen)? {
            let outcomes = self.attempts.iter().map(|_| Outcome::Behind).collect();
            return Ok(RoundResult { seen: Some(seen), outcomes });
        }
        let mut outcomes = Vec::new();
        let mut changes = Vec::new();
        for attempt in &self.attempts {
            let name = attempt.record.lineage.claim_name();
            let outcome = match expected(&name, &attempt.record, &seen, &self.own, &self.watch) {
                Ok(expected) => {
                    let new = repository.write_claim(&attempt.record, expected.as_deref())?;
                    changes.push((outcomes.len(), RefChange { name, expected, new: Some(new) }));
                    None
                }
                // A claim that is in the store under a lower fence than one that ended since is over.
                Err(Outcome::Low(_)) if attempt.existing => Some(Outcome::Held(None)),
                Err(outcome) => Some(outcome),
            };
            outcomes.push(outcome);
        }
        let began = Uptime::now();
        let (at, changes): (Vec<usize>, Vec<RefChange>) = changes.into_iter().unzip();
        let swapped = if changes.is_empty() { Vec::new() } else { remote.swap(&self.prefix, &changes)? };
        let mut seen = seen;
        if swapped.iter().any(|one| matches!(one, Swapped::Lost(_))) {
            // Who was faster? That the remote does not say it is no reason to give up what was won.
            if let Ok(newer) = remote.claims(&self.prefix) {
                self.watch.note(&newer);
                seen = newer;
            }
        }
        for ((index, change), swapped) in at.into_iter().zip(&changes).zip(swapped) {
            outcomes[index] = Some(outcome(change, swapped, &began, &seen));
        }
        let mut outcomes: Vec<Outcome> =
            outcomes.into_iter().map(|outcome| outcome.unwrap_or(Outcome::Gone)).collect();
        self.look_again(&repository, &remote, &mut outcomes);
        Ok(RoundResult { seen: Some(seen), outcomes })
    }

    fn is_behind(&self, repository: &GitRepository, seen: &ClaimsSeen) -> Result<bool, Failure> {
        match &seen.tip {
            Some(tip) if self.careful => self.lacks(repository, tip),
            _ => Ok(false),
        }
    }

    /// Whether a commit of the remote's store holds something that the store here may not.
    fn lacks(&self, repository: &GitRepository, tip: &str) -> Result<bool, Failure> {
        match &self.base {
            Some(base) => Ok(!repository.is_ancestor(tip, base)?),
            None => Ok(true),
        }
    }

    /// Looks at the remote's store after refs were won: a bead that was over there before is not to be worked on. A claim
    /// ends in the store first and on its ref afterwards, so whoever won the ref sees the end.
    fn look_again(&self, repository: &GitRepository, remote: &impl Remote, outcomes: &mut [Outcome]) {
        if !outcomes.iter().any(|outcome| matches!(outcome, Outcome::Won(..))) {
            return;
        }
        let fetched = remote.fetch().map_err(Failure::from);
        let newer = fetched.and_then(|tip| match tip {
            Some(tip) if self.lacks(repository, &tip)? => Ok(Some(tip)),
            _ => Ok(None),
        });
        for (attempt, outcome) in self.attempts.iter().zip(outcomes) {
            let Outcome::Won(commit, began) = outcome else { continue };
            let over = newer.clone().and_then(|tip| match tip {
                Some(tip) => attempt.is_over_in(repository, &tip),
                None => Ok(false),
            });
            match over {
                Ok(false) => {}
                Ok(true) => *outcome = Outcome::WonTooLate,
                Err(failure) => *outcome = Outcome::WonUnseen(commit.clone(), began.clone(), failure.into()),
            }
        }
    }
}

/// Where a ref must be for a record to replace its value, or why the record must not.
pub(super) fn expected(
    name: &str,
    record: &ClaimRecord,
    seen: &ClaimsSeen,
    own: &BTreeSet<String>,
    watch: &Watch,
) -> Result<Option<CommitId>, Outcome> {
    let Some(value) = seen.refs.get(name) else { return Ok(None) };
    let known = value.record.as_ref();
    let is_free = known.is_some_and(|known| !known.is_live() || own.contains(&known.claim));
    if !is_free && !watch.has_expired(name, value) {
        return Err(Outcome::Held(value.record.clone()));
    }
    match known {
        Some(known) if known.claim != record.claim && known.fence >= record.fence => {
            Err(Outcome::Low(known.fence))
        }
        _ => Ok(Some(value.commit.clone())),
    }
}

pub(super) fn outcome(change: &RefChange, swapped: Swapped, began: &Uptime, seen: &ClaimsSeen) -> Outcome {
    let holder = |value: &ClaimValue| value.record.clone().filter(ClaimRecord::is_live);
    match swapped {
        Swapped::Done => Outcome::Won(change.new.clone().unwrap_or_default(), began.clone()),
        Swapped::Lost(_) => Outcome::Held(seen.refs.get(&change.name).and_then(holder)),
        Swapped::Refused(reason) => Outcome::Refused(reason),
    }
}
