//! Claim refs after the claim: ended claims are marked as over once the store says so on the remote, leases that were renewed
//! move their refs, claims made without the remote are confirmed or withdrawn, and old refs are deleted.

use std::collections::BTreeSet;

use beads_core::ClaimRecord;
use beads_core::planted::{Bug, is_planted};

use super::outcome::{Outcome, expected, outcome};
use super::round::ClaimObjects;
use super::uptime::{Steady, Uptime};
use super::watch::Watch;
use crate::Result;
use crate::claim_refs::{ClaimRemote, ClaimsSeen, RefChange, Swapped};
use crate::repository::CommitId;

/// How many refs one upkeep deletes.
const MAX_DELETIONS: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The claim is over in the store that the remote has.
    End,
    /// Its holder renewed the lease.
    Renew,
    /// It was made without the remote.
    Confirm,
}

#[derive(Debug, Clone)]
pub(super) struct Move {
    pub kind: Kind,
    pub record: ClaimRecord,
}

/// Everything that a thread needs after an exchange.
#[derive(Debug)]
pub struct Upkeep {
    pub(super) prefix: String,
    pub(super) moves: Vec<Move>,
    pub(super) own: BTreeSet<String>,
    pub(super) watch: Watch,
    /// Whether refs that are long over are deleted.
    pub(super) tidies: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct UpkeepResult {
    pub(super) seen: ClaimsSeen,
    pub(super) moved: Vec<(Move, Outcome)>,
}

impl UpkeepResult {
    /// Whether anything was pushed.
    pub fn pushed(&self) -> bool {
        self.moved.iter().any(|(_, outcome)| matches!(outcome, Outcome::Won(..)))
    }

    /// What was done with which claim, for a log.
    pub fn summary(&self) -> String {
        let one = |(one, outcome): &(Move, Outcome)| {
            let done = if outcome.is_won() { "done" } else { "not done" };
            format!("{:?} of {} by {}: {done}", one.kind, one.record.claim, one.record.holder)
        };
        self.moved.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

impl Upkeep {
    pub fn run(
        &self,
        repository: &impl ClaimObjects,
        remote: &impl ClaimRemote,
        clock: &impl Steady,
    ) -> Result<UpkeepResult> {
        let seen = remote.claims(&self.prefix)?;
        self.watch.note(&seen, &clock.now());
        let mut moved = Vec::new();
        let mut changes = Vec::new();
        for one in &self.moves {
            let name = one.record.lineage.claim_name();
            match self.place(one, &name, &seen, &clock.now()) {
                Ok(expected) => {
                    let new = Some(repository.write_claim(&one.record, expected.as_deref())?);
                    changes.push((one.clone(), RefChange { name, expected, new }));
                }
                Err(outcome) => moved.push((one.clone(), outcome)),
            }
        }
        let mut pushes: Vec<RefChange> = changes.iter().map(|(_, change)| change.clone()).collect();
        pushes.extend(self.deletions(&pushes, &seen, &clock.now()));
        let began = clock.now();
        let swapped = if pushes.is_empty() { Vec::new() } else { remote.swap(&self.prefix, &pushes)? };
        let mut seen = seen;
        if swapped.iter().any(|one| matches!(one, Swapped::Lost(_))) {
            seen = remote.claims(&self.prefix)?;
            self.watch.note(&seen, &clock.now());
        }
        for ((one, change), swapped) in changes.into_iter().zip(swapped) {
            moved.push((one, outcome(&change, swapped, &began, &seen)));
        }
        Ok(UpkeepResult { seen, moved })
    }

    /// Refs that were over for the length of a lease, as far as nothing else is done with them.
    fn deletions(&self, pushes: &[RefChange], seen: &ClaimsSeen, now: &Uptime) -> Vec<RefChange> {
        let busy: BTreeSet<&String> = pushes.iter().map(|change| &change.name).collect();
        let old = seen.refs.iter().filter(|(name, value)| {
            let over = value.record.as_ref().is_some_and(|record| !record.is_live());
            over && !busy.contains(name) && self.watch.has_expired(name, value, now)
        });
        let most = if self.tidies { MAX_DELETIONS } else { 0 };
        let deletions = old.take(most).map(|(name, value)| RefChange {
            name: name.clone(),
            expected: Some(value.commit.clone()),
            new: None,
        });
        deletions.collect()
    }

    /// Where the ref must be for a move, or why it cannot be made.
    fn place(
        &self,
        one: &Move,
        name: &str,
        seen: &ClaimsSeen,
        now: &Uptime,
    ) -> Result<Option<CommitId>, Outcome> {
        if one.kind == Kind::Confirm {
            return match expected(name, &one.record, seen, &self.own, (&self.watch, now)) {
                // A claim that ended since had a later fence: this one is over.
                Err(Outcome::Low(_)) => Err(Outcome::Held(None)),
                place => place,
            };
        }
        let value = seen.refs.get(name);
        let known = value.and_then(|value| value.record.as_ref());
        let is_ours = |known: &ClaimRecord| {
            known.claim == one.record.claim || one.kind == Kind::End && is_planted(Bug::ReleaseWithoutFence)
        };
        match (value, known) {
            (Some(value), Some(known)) if known.is_live() && is_ours(known) => Ok(Some(value.commit.clone())),
            _ if one.kind == Kind::Renew => Err(Outcome::Held(known.cloned())),
            _ => Err(Outcome::Gone),
        }
    }
}
