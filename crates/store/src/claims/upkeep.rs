//! Maintenance of claim refs: marks ended claims as over once the remote's store says so, moves the refs of
//! renewed leases, confirms or withdraws claims made without the remote, and deletes old refs.

use std::collections::BTreeSet;

use beads_core::ClaimRecord;
use beads_core::planted::{Bug, is_planted};

use super::outcome::{Outcome, expected, outcome};
use super::round::ClaimObjects;
use super::uptime::{SteadyClock, Uptime};
use super::watch::Watch;
use crate::Result;
use crate::claim_refs::{ClaimListing, ClaimRemote, RefChange, Swapped};
use crate::repository::CommitId;
use crate::sync::Exchange;

/// How many refs one upkeep deletes.
const MAX_DELETIONS: usize = 50;

/// Why a ref is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MoveKind {
    /// The claim has ended in the store that the remote has.
    End,
    /// The holder renewed the lease.
    Renew,
    /// The claim was made without the remote.
    Confirm,
}

/// A planned move of a claim ref.
#[derive(Debug, Clone)]
pub(super) struct Move {
    pub kind: MoveKind,
    pub record: ClaimRecord,
}

/// The work on claim refs after an exchange. It can run in another thread.
#[derive(Debug)]
pub struct Upkeep {
    pub(super) prefix: String,
    pub(super) moves: Vec<Move>,
    pub(super) own: BTreeSet<String>,
    pub(super) watch: Watch,
    /// Whether old refs of ended claims are deleted.
    pub(super) deletes_old_refs: bool,
}

/// The result of an upkeep.
#[derive(Debug)]
pub struct UpkeepResult {
    pub(super) seen: ClaimListing,
    pub(super) moved: Vec<(Move, Outcome)>,
}

impl UpkeepResult {
    /// Returns whether anything was pushed.
    pub fn pushed(&self) -> bool {
        self.moved.iter().any(|(_, outcome)| matches!(outcome, Outcome::Won(..)))
    }

    /// Returns what was done with each claim, for the log.
    pub fn summary(&self) -> String {
        let one = |(one, outcome): &(Move, Outcome)| {
            let done = if outcome.is_won() { "done" } else { "not done" };
            format!("{:?} of {} by {}: {done}", one.kind, one.record.claim, one.record.holder)
        };
        self.moved.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

impl Upkeep {
    /// Returns the upkeep if the exchange it was planned with succeeded. Otherwise the remote's store may not
    /// have the end of a claim, for example a close, and another machine would be given the bead again.
    pub fn after(self, exchange: &Result<Exchange>) -> Option<Self> {
        (exchange.is_ok() || is_planted(Bug::EndBeforeStore)).then_some(self)
    }

    /// Lists the claim refs, and pushes the moves and deletions.
    pub fn run(
        &self,
        repository: &impl ClaimObjects,
        remote: &impl ClaimRemote,
        clock: &impl SteadyClock,
    ) -> Result<UpkeepResult> {
        let seen = remote.claims(&self.prefix)?;
        self.watch.note(&seen, &clock.now());
        let mut moved = Vec::new();
        let mut changes = Vec::new();
        for one in &self.moves {
            let name = one.record.lineage.claim_name();
            match self.expected_value(one, &name, &seen, &clock.now()) {
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

    /// Returns deletions of refs whose claim ended at least a lease ago, unless they are moved anyway.
    fn deletions(&self, pushes: &[RefChange], seen: &ClaimListing, now: &Uptime) -> Vec<RefChange> {
        let busy: BTreeSet<&String> = pushes.iter().map(|change| &change.name).collect();
        let old = seen.refs.iter().filter(|(name, value)| {
            let over = value.record.as_ref().is_some_and(|record| !record.is_live());
            over && !busy.contains(name) && self.watch.has_expired(name, value, now)
        });
        let most = if self.deletes_old_refs { MAX_DELETIONS } else { 0 };
        let deletions = old.take(most).map(|(name, value)| RefChange {
            name: name.clone(),
            expected: Some(value.commit.clone()),
            new: None,
        });
        deletions.collect()
    }

    /// Returns the value that the ref must have for a move, or why the move cannot be made.
    fn expected_value(
        &self,
        one: &Move,
        name: &str,
        seen: &ClaimListing,
        now: &Uptime,
    ) -> Result<Option<CommitId>, Outcome> {
        if one.kind == MoveKind::Confirm {
            return match expected(name, &one.record, seen, &self.own, (&self.watch, now)) {
                // A claim that ended since had a later fence, so this one is over.
                Err(Outcome::FenceTooLow(_)) => Err(Outcome::Held(None)),
                place => place,
            };
        }
        let value = seen.refs.get(name);
        let known = value.and_then(|value| value.record.as_ref());
        let is_ours = |known: &ClaimRecord| {
            known.claim == one.record.claim
                || one.kind == MoveKind::End && is_planted(Bug::ReleaseWithoutFence)
        };
        match (value, known) {
            (Some(value), Some(known)) if known.is_live() && is_ours(known) => Ok(Some(value.commit.clone())),
            _ if one.kind == MoveKind::Renew => Err(Outcome::Held(known.cloned())),
            _ => Err(Outcome::Gone),
        }
    }
}
