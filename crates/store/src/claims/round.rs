//! A round of claiming: one listing of the remote's claim refs and one push.

use std::collections::BTreeSet;
use std::sync::Arc;

use beads_core::planted::{Bug, is_planted};
use beads_core::{Bead, ClaimRecord, Lineage, Status};

use super::book::Attempt;
use super::outcome::{Outcome, expected, outcome};
use super::uptime::SteadyClock;
use super::watch::Watch;
use crate::Result;
use crate::claim_refs::{ClaimListing, ClaimRemote, RefChange, Swapped};
use crate::git::GitRepository;
use crate::remote::Remote;
use crate::repository::{CommitId, Repository};

/// A repository that can also write and read what claims need.
pub trait ClaimObjects: Repository {
    /// Writes a value of a claim ref as a child of the one it replaces.
    fn write_claim(&self, record: &ClaimRecord, parent: Option<&str>) -> Result<CommitId>;

    /// Returns a bead as of a commit of the store.
    fn bead_of(&self, commit: &str, lineage: &Lineage) -> Result<Option<Bead>>;
}

impl ClaimObjects for GitRepository {
    fn write_claim(&self, record: &ClaimRecord, parent: Option<&str>) -> Result<CommitId> {
        Self::write_claim(self, record, parent)
    }

    fn bead_of(&self, commit: &str, lineage: &Lineage) -> Result<Option<Bead>> {
        Self::bead_of(self, commit, lineage)
    }
}

/// The input of a round.
#[derive(Debug)]
pub struct Round {
    /// The prefix of claim refs.
    pub prefix: String,
    /// The values to push.
    pub attempts: Vec<Attempt>,
    /// The claims of this clone, by claim id.
    pub own: BTreeSet<String>,
    /// How long each claim ref has had its value.
    pub watch: Watch,
    /// The commit that the local store was last saved to or merged with.
    pub known_tip: Option<CommitId>,
    /// Whether to attempt nothing if the local store is older than the remote's.
    pub require_current: bool,
}

/// The result of a round.
#[derive(Debug)]
pub struct RoundResult {
    /// The last listing of the remote.
    pub seen: ClaimListing,
    /// One outcome per attempt, in their order.
    pub outcomes: Vec<Outcome>,
}

impl Round {
    /// Lists the claim refs, pushes the attempts, and checks that the won beads are still open.
    pub fn run<R: ClaimRemote + Remote>(
        &self,
        repository: &impl ClaimObjects,
        remote: &R,
        clock: &impl SteadyClock,
    ) -> Result<RoundResult> {
        let seen = remote.claims(&self.prefix)?;
        self.watch.note(&seen, &clock.now());
        if self.is_behind(repository, &seen)? {
            let outcomes = self.attempts.iter().map(|_| Outcome::StoreBehind).collect();
            return Ok(RoundResult { seen, outcomes });
        }
        let mut outcomes = Vec::new();
        let mut changes = Vec::new();
        for attempt in &self.attempts {
            let name = attempt.record.lineage.claim_name();
            let watch = (&self.watch, &clock.now());
            let outcome = match expected(&name, &attempt.record, &seen, &self.own, watch) {
                Ok(expected) => {
                    let new = repository.write_claim(&attempt.record, expected.as_deref())?;
                    changes.push((outcomes.len(), RefChange { name, expected, new: Some(new) }));
                    None
                }
                // A claim with a higher fence has ended since, so the existing claim is over.
                Err(Outcome::FenceTooLow(_)) if attempt.existing => Some(Outcome::Held(None)),
                Err(outcome) => Some(outcome),
            };
            outcomes.push(outcome);
        }
        let began = clock.now();
        let (at, changes): (Vec<usize>, Vec<RefChange>) = changes.into_iter().unzip();
        let swapped = if changes.is_empty() { Vec::new() } else { self.swap(remote, &changes)? };
        let mut seen = seen;
        if swapped.iter().any(|one| matches!(one, Swapped::Lost(_))) {
            // Find out which machine won. If the listing fails, the refs that we won still count.
            if let Ok(newer) = remote.claims(&self.prefix) {
                self.watch.note(&newer, &clock.now());
                seen = newer;
            }
        }
        for ((index, change), swapped) in at.into_iter().zip(&changes).zip(swapped) {
            outcomes[index] = Some(outcome(change, swapped, &began, &seen));
        }
        let mut outcomes: Vec<Outcome> =
            outcomes.into_iter().map(|outcome| outcome.unwrap_or(Outcome::Gone)).collect();
        self.recheck_beads(repository, remote, &mut outcomes);
        Ok(RoundResult { seen, outcomes })
    }

    fn swap(&self, remote: &impl ClaimRemote, changes: &[RefChange]) -> Result<Vec<Swapped>> {
        if is_planted(Bug::ClaimWithoutExpectedValue) {
            return swap_without_expected_value(remote, &self.prefix, changes);
        }
        remote.swap(&self.prefix, changes)
    }

    fn is_behind(&self, repository: &impl Repository, seen: &ClaimListing) -> Result<bool> {
        match &seen.tip {
            Some(tip) if self.require_current => self.lacks(repository, tip),
            _ => Ok(false),
        }
    }

    /// Returns whether a commit of the remote's store may hold changes that are missing here.
    fn lacks(&self, repository: &impl Repository, tip: &str) -> Result<bool> {
        match &self.known_tip {
            Some(known_tip) => Ok(!repository.is_ancestor(tip, known_tip)?),
            None => Ok(true),
        }
    }

    /// Checks the remote's store after refs were won: a bead that was already closed there must not be worked
    /// on. A claim ends in the store first and on its ref afterwards, so the winner of the ref sees the end.
    fn recheck_beads(&self, repository: &impl ClaimObjects, remote: &impl Remote, outcomes: &mut [Outcome]) {
        if !outcomes.iter().any(|outcome| matches!(outcome, Outcome::Won(..))) {
            return;
        }
        let fetched = remote.fetch().map_err(Arc::new);
        for (attempt, outcome) in self.attempts.iter().zip(outcomes) {
            if !matches!(outcome, Outcome::Won(..)) {
                continue;
            }
            let over = match &fetched {
                Ok(Some(tip)) => self
                    .lacks(repository, tip)
                    .and_then(|lacks| Ok(lacks && attempt.is_closed_in(repository, tip)?))
                    .map_err(Arc::new),
                Ok(None) => Ok(false),
                Err(error) => Err(error.clone()),
            };
            match over {
                Ok(false) => {}
                Ok(true) => *outcome = Outcome::WonButClosed,
                Err(error) => *outcome = Outcome::WonUnchecked(error),
            }
        }
    }
}

impl Attempt {
    /// Returns whether the bead is deleted in a commit of the remote's store, or closed there later than its
    /// status was written here.
    fn is_closed_in(&self, repository: &impl ClaimObjects, commit: &str) -> Result<bool> {
        let bead = repository.bead_of(commit, &self.record.lineage)?;
        Ok(bead.is_some_and(|bead| {
            let closed = bead.status.value.status == Status::Closed;
            bead.deletion.is_some() || closed && Some(bead.status.mark.at()) > self.status_at
        }))
    }
}

/// A planted bug: takes the remote's current value for the expected one, as libgit2 does by default.
fn swap_without_expected_value(
    remote: &impl ClaimRemote,
    prefix: &str,
    changes: &[RefChange],
) -> Result<Vec<Swapped>> {
    let now = remote.claims(prefix)?;
    let there = |change: &RefChange| now.refs.get(&change.name).map(|value| value.commit.clone());
    let changes: Vec<_> =
        changes.iter().map(|change| RefChange { expected: there(change), ..change.clone() }).collect();
    remote.swap(prefix, &changes)
}
