//! One look at the remote's claim refs and one push of what is to be claimed.

use std::collections::BTreeSet;
use std::sync::Arc;

use beads_core::planted::{Bug, is_planted};
use beads_core::{Bead, ClaimRecord, Lineage, Status};

use super::book::Attempt;
use super::outcome::{Outcome, expected, outcome};
use super::uptime::Steady;
use super::watch::Watch;
use crate::Result;
use crate::claim_refs::{ClaimRemote, ClaimsSeen, RefChange, Swapped};
use crate::git::GitRepository;
use crate::remote::Remote;
use crate::repository::{CommitId, Repository};

/// The objects that claims need besides those of the store.
pub trait ClaimObjects: Repository {
    /// Writes a value of a claim ref: a child of the one it replaces.
    fn write_claim(&self, record: &ClaimRecord, parent: Option<&str>) -> Result<CommitId>;

    /// The bead in a commit of the store.
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

/// Everything that is needed to try claims.
#[derive(Debug)]
pub struct Round {
    pub prefix: String,
    pub attempts: Vec<Attempt>,
    /// The claims of this clone, by claim id.
    pub own: BTreeSet<String>,
    pub watch: Watch,
    /// The commit that the store here was last saved as or merged with.
    pub base: Option<CommitId>,
    /// Candidates must not be chosen from an older store than the remote's.
    pub careful: bool,
}

/// What came of a round.
#[derive(Debug)]
pub struct RoundResult {
    pub seen: ClaimsSeen,
    /// One per attempt, in their order.
    pub outcomes: Vec<Outcome>,
}

impl Round {
    pub fn run<R: ClaimRemote + Remote>(
        &self,
        repository: &impl ClaimObjects,
        remote: &R,
        clock: &impl Steady,
    ) -> Result<RoundResult> {
        let seen = remote.claims(&self.prefix)?;
        self.watch.note(&seen, &clock.now());
        if self.is_behind(repository, &seen)? {
            let outcomes = self.attempts.iter().map(|_| Outcome::Behind).collect();
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
                // A claim that is in the store under a lower fence than one that ended since is over.
                Err(Outcome::Low(_)) if attempt.existing => Some(Outcome::Held(None)),
                Err(outcome) => Some(outcome),
            };
            outcomes.push(outcome);
        }
        let began = clock.now();
        let (at, changes): (Vec<usize>, Vec<RefChange>) = changes.into_iter().unzip();
        let swapped = if changes.is_empty() { Vec::new() } else { self.swap(remote, &changes)? };
        let mut seen = seen;
        if swapped.iter().any(|one| matches!(one, Swapped::Lost(_))) {
            // Who was faster? That the remote does not say it is no reason to give up what was won.
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
        self.look_again(repository, remote, &mut outcomes);
        Ok(RoundResult { seen, outcomes })
    }

    fn swap(&self, remote: &impl ClaimRemote, changes: &[RefChange]) -> Result<Vec<Swapped>> {
        if is_planted(Bug::ClaimWithoutExpectedValue) {
            return swap_whatever_is_there(remote, &self.prefix, changes);
        }
        remote.swap(&self.prefix, changes)
    }

    fn is_behind(&self, repository: &impl Repository, seen: &ClaimsSeen) -> Result<bool> {
        match &seen.tip {
            Some(tip) if self.careful => self.lacks(repository, tip),
            _ => Ok(false),
        }
    }

    /// Whether a commit of the remote's store holds something that the store here may not.
    fn lacks(&self, repository: &impl Repository, tip: &str) -> Result<bool> {
        match &self.base {
            Some(base) => Ok(!repository.is_ancestor(tip, base)?),
            None => Ok(true),
        }
    }

    /// Looks at the remote's store after refs were won: a bead that was over there before is not to be worked on. A claim
    /// ends in the store first and on its ref afterwards, so whoever won the ref sees the end.
    fn look_again(&self, repository: &impl ClaimObjects, remote: &impl Remote, outcomes: &mut [Outcome]) {
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
                    .and_then(|lacks| Ok(lacks && attempt.is_over_in(repository, tip)?))
                    .map_err(Arc::new),
                Ok(None) => Ok(false),
                Err(error) => Err(error.clone()),
            };
            match over {
                Ok(false) => {}
                Ok(true) => *outcome = Outcome::WonTooLate,
                Err(error) => *outcome = Outcome::WonUnseen(error),
            }
        }
    }
}

impl Attempt {
    /// Whether the bead is deleted in a commit of the remote's store, or closed there later than its status was written here.
    fn is_over_in(&self, repository: &impl ClaimObjects, commit: &str) -> Result<bool> {
        let bead = repository.bead_of(commit, &self.record.lineage)?;
        Ok(bead.is_some_and(|bead| {
            let closed = bead.status.value.status == Status::Closed;
            bead.deletion.is_some() || closed && Some(bead.status.mark.at()) > self.status_at
        }))
    }
}

/// The bug on purpose: the value that the remote has now is taken for the expected one, as libgit2 does by itself.
fn swap_whatever_is_there(
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
