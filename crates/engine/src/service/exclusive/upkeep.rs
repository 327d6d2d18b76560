//! Claim refs after the claim: ended claims are marked as over once the store says so on the remote, leases that were renewed
//! move their refs, claims made without the remote are confirmed or withdrawn, and old refs are deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use beads_core::{Bead, ClaimRecord, Lineage, Status};
use beads_store::{ClaimRemote, ClaimsSeen, GitRepository, RefChange, Swapped};

use super::job::new_claim_id;
use super::own::Own;
use super::round::{Outcome, expected, outcome};
use super::scope::Needs;
use super::watch::Watch;
use crate::service::Service;
use crate::uptime::Uptime;

/// How many refs one upkeep moves, and how many it deletes.
const MAX_MOVES: usize = 200;
const MAX_DELETIONS: usize = 50;

/// A push whose answer was lost may still arrive; so long a claim that was given up is remembered.
const LATE_MS: u64 = 60 * 60 * 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The claim is over in the store that the remote has.
    End,
    /// Its holder renewed the lease.
    Renew,
    /// It was made without the remote.
    Confirm,
}

#[derive(Debug, Clone)]
struct Move {
    kind: Kind,
    record: ClaimRecord,
}

/// Everything that a thread needs after an exchange.
#[derive(Debug)]
pub struct Upkeep {
    prefix: String,
    moves: Vec<Move>,
    own: BTreeSet<String>,
    watch: Watch,
    /// Whether refs that are long over are deleted.
    tidies: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct UpkeepResult {
    seen: ClaimsSeen,
    moved: Vec<(Move, Outcome)>,
}

impl UpkeepResult {
    /// Whether anything was pushed.
    pub fn pushed(&self) -> bool {
        self.moved.iter().any(|(_, outcome)| matches!(outcome, Outcome::Won(..)))
    }
}

/// What the store says of a claim whose ref is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Stands,
    Over,
    /// A claim of another machine, without a ref, overwrote it.
    Overwritten,
}

impl Upkeep {
    pub fn run(
        &self,
        repository: &GitRepository,
        remote: &impl ClaimRemote,
    ) -> beads_store::Result<UpkeepResult> {
        let seen = remote.claims(&self.prefix)?;
        self.watch.note(&seen);
        let mut moved = Vec::new();
        let mut changes = Vec::new();
        for one in &self.moves {
            let name = one.record.lineage.claim_name();
            match self.place(one, &name, &seen) {
                Ok(expected) => {
                    let new = Some(repository.write_claim(&one.record, expected.as_deref())?);
                    changes.push((one.clone(), RefChange { name, expected, new }));
                }
                Err(outcome) => moved.push((one.clone(), outcome)),
            }
        }
        let mut pushes: Vec<RefChange> = changes.iter().map(|(_, change)| change.clone()).collect();
        let busy: BTreeSet<String> = pushes.iter().map(|change| change.name.clone()).collect();
        let old = seen.refs.iter().filter(|(name, value)| {
            let over = value.record.as_ref().is_some_and(|record| !record.is_live());
            over && !busy.contains(*name) && self.watch.has_expired(name, value)
        });
        let most = if self.tidies { MAX_DELETIONS } else { 0 };
        pushes.extend(old.take(most).map(|(name, value)| RefChange {
            name: name.clone(),
            expected: Some(value.commit.clone()),
            new: None,
        }));
        let began = Uptime::now();
        let swapped = if pushes.is_empty() { Vec::new() } else { remote.swap(&self.prefix, &pushes)? };
        let mut seen = seen;
        if swapped.iter().any(|one| matches!(one, Swapped::Lost(_))) {
            seen = remote.claims(&self.prefix)?;
            self.watch.note(&seen);
        }
        for ((one, change), swapped) in changes.into_iter().zip(swapped) {
            moved.push((one, outcome(&change, swapped, &began, &seen)));
        }
        Ok(UpkeepResult { seen, moved })
    }

    /// Where the ref must be for a move, or why it cannot be made.
    fn place(&self, one: &Move, name: &str, seen: &ClaimsSeen) -> Result<Option<String>, Outcome> {
        if one.kind == Kind::Confirm {
            return match expected(name, &one.record, seen, &self.own, &self.watch) {
                // A claim that ended since had a later fence: this one is over.
                Err(Outcome::Low(_)) => Err(Outcome::Held(None)),
                place => place,
            };
        }
        let value = seen.refs.get(name);
        let known = value.and_then(|value| value.record.as_ref());
        match (value, known) {
            (Some(value), Some(known)) if known.is_live() && known.claim == one.record.claim => {
                Ok(Some(value.commit.clone()))
            }
            _ if one.kind == Kind::Renew => Err(Outcome::Held(known.cloned())),
            _ => Err(Outcome::Gone),
        }
    }
}

impl Service {
    /// What is to be done with claim refs after the exchange that begins now: the checkpoint that was set aside for it says
    /// what is over. `None` when nobody here has to do with claim refs.
    pub fn upkeep(&mut self) -> Option<Upkeep> {
        let needs = self.claim_needs(false, false).unwrap_or(Needs::Nothing);
        if needs == Needs::Nothing && self.claim_refs.own.is_empty() {
            return None;
        }
        if needs != Needs::Nothing {
            self.adopt_made();
        }
        let mut moves = self.own_moves();
        let taken: BTreeSet<String> = moves.values().map(|one| one.record.claim.clone()).collect();
        for one in self.foreign_ends() {
            if !taken.contains(&one.record.claim) {
                moves.entry(one.record.lineage.claim_name()).or_insert(one);
            }
        }
        Some(Upkeep {
            prefix: self.ref_prefix(),
            moves: moves.into_values().take(MAX_MOVES).collect(),
            own: self.claim_refs.own.keys().cloned().collect(),
            watch: self.claim_refs.watch.clone(),
            tidies: true,
        })
    }

    /// A look at the claim refs that moves none.
    pub fn look(&self) -> Upkeep {
        Upkeep {
            prefix: self.ref_prefix(),
            moves: Vec::new(),
            own: BTreeSet::new(),
            watch: self.claim_refs.watch.clone(),
            tidies: false,
        }
    }

    /// Claims made here without the remote get refs like the others.
    fn adopt_made(&mut self) {
        let now_ms = self.replica.now_ms();
        let catalog = self.replica.catalog();
        for (fence, lineage) in std::mem::take(&mut self.claim_refs.made) {
            let bead = catalog.bead(&lineage).filter(|bead| stands(bead, fence, now_ms));
            let held = bead.and_then(|bead| Some((bead.claim.assignee.clone()?, lease_of(bead))));
            if let Some((holder, lease_ms)) = held.filter(|_| self.claim_refs.of(&lineage, fence).is_none()) {
                let own = Own {
                    lineage,
                    holder,
                    fence,
                    earlier: Vec::new(),
                    lease_ms,
                    pushed: None,
                    expires: None,
                    since_ms: now_ms,
                };
                self.claim_refs.own.insert(new_claim_id(), own);
            }
        }
    }

    /// One move per ref: a claim that stands replaces one that is over.
    fn own_moves(&self) -> BTreeMap<String, Move> {
        let mut moves: BTreeMap<String, Move> = BTreeMap::new();
        for (claim, own) in &self.claim_refs.own {
            if self.claim_refs.in_flight.contains(claim) {
                continue;
            }
            let record = own.record(claim);
            let one = match self.standing(own) {
                Standing::Overwritten => continue,
                Standing::Over => {
                    let bead = self.replica.catalog().bead(&own.lineage);
                    let last = bead.map_or(own.fence, |bead| bead.claim.mark.at());
                    Move { kind: Kind::End, record: record.over(last) }
                }
                Standing::Stands if own.pushed.is_none() => Move { kind: Kind::Confirm, record },
                Standing::Stands if self.was_renewed(own) && own.is_half_over() => {
                    let bead = self.replica.catalog().bead(&own.lineage);
                    let lease_ms = bead.map_or(own.lease_ms, |bead| lease_of(bead));
                    Move { kind: Kind::Renew, record: ClaimRecord { lease_ms, ..record } }
                }
                Standing::Stands => continue,
            };
            let name = own.lineage.claim_name();
            if one.kind != Kind::End || !moves.contains_key(&name) {
                moves.insert(name, one);
            }
        }
        moves
    }

    fn was_renewed(&self, own: &Own) -> bool {
        let bead = self.replica.catalog().bead(&own.lineage);
        bead.is_some_and(|bead| bead.claim.expires != own.expires)
    }

    fn standing(&self, own: &Own) -> Standing {
        let now_ms = self.replica.now_ms();
        let Some(bead) = self.replica.catalog().bead(&own.lineage) else { return Standing::Over };
        if stands(bead, own.fence, now_ms) {
            return Standing::Stands;
        }
        let claim = &bead.claim;
        let open = bead.deletion.is_none() && bead.status.value.status != Status::Closed;
        let later = claim.is_taken() && claim.mark.at() > own.fence && !claim.expired(now_ms);
        let made_here = claim.fence().is_some_and(|fence| {
            self.claim_refs.made.contains_key(&fence) || self.claim_refs.of(&own.lineage, fence).is_some()
        });
        // An offer to another agent is how a holder gives its claim away.
        match open && later && !made_here && !bead.is_offer() && own.is_safe() {
            true => Standing::Overwritten,
            false => Standing::Over,
        }
    }

    /// Claims of other machines that the store says are over: closed, deleted or given back by a machine that knows nothing
    /// of their refs, or whose own machine is gone.
    fn foreign_ends(&self) -> Vec<Move> {
        let catalog = self.replica.catalog();
        let live = self.claim_refs.seen.values().filter_map(|value| value.record.as_ref());
        let foreign =
            live.filter(|record| record.is_live() && !self.claim_refs.own.contains_key(&record.claim));
        let ended = foreign.filter_map(|record| {
            let bead = catalog.bead(&record.lineage)?;
            let closed = bead.deletion.is_some() || bead.status.value.status == Status::Closed;
            let closed_since = closed && closed_at(bead) > record.fence;
            let free = bead.claim.assignee.is_none() || bead.is_offer();
            let given_back = free && bead.claim.mark.at() > record.fence;
            let last = bead.claim.mark.at().max(closed_at(bead));
            (closed_since || given_back).then(|| Move { kind: Kind::End, record: record.over(last) })
        });
        ended.collect()
    }

    /// Takes in what an upkeep did.
    pub(in crate::service) fn upkept(&mut self, result: UpkeepResult) {
        let now_ms = self.replica.now_ms();
        self.claim_refs.saw(result.seen);
        for (Move { kind, record }, outcome) in result.moved {
            match (kind, outcome) {
                (Kind::End, Outcome::Won(..)) => drop(self.claim_refs.own.remove(&record.claim)),
                (Kind::End, Outcome::Gone) => {
                    let own = self.claim_refs.own.get(&record.claim);
                    if own.is_some_and(|own| own.pushed.is_some() || own.since_ms + LATE_MS < now_ms) {
                        self.claim_refs.own.remove(&record.claim);
                    }
                }
                (Kind::Confirm | Kind::Renew, Outcome::Won(commit, began)) => {
                    let bead = self.replica.catalog().bead(&record.lineage);
                    let expires = bead.and_then(|bead| bead.claim.expires);
                    if let Some(own) = self.claim_refs.own.get_mut(&record.claim) {
                        (own.pushed, own.expires) = (Some((commit, began)), expires);
                        own.lease_ms = record.lease_ms;
                    }
                }
                (Kind::Confirm | Kind::Renew, Outcome::Held(winner)) => {
                    self.claim_refs.own.remove(&record.claim);
                    if let Some(winner) = winner.filter(ClaimRecord::is_live) {
                        self.withdraw(&record.lineage, record.fence, &winner);
                    }
                }
                (_, Outcome::Refused(reason)) => {
                    crate::log::note(&format!("the remote does not take claim refs: {reason}"));
                    self.note_refused(&reason);
                }
                // Another machine moved the ref meanwhile; the next upkeep looks again.
                _ => {}
            }
        }
        self.assert_own();
        self.claim_refs.save();
    }

    /// A claim whose ref is ours and that an unconfirmed one of another machine overwrote in the store is written again. Its
    /// holder may go on with the fence it knows.
    fn assert_own(&mut self) {
        let claims: Vec<(String, Own)> =
            self.claim_refs.own.iter().map(|(claim, own)| (claim.clone(), own.clone())).collect();
        for (claim, own) in claims {
            let name = own.lineage.claim_name();
            let seen = self.claim_refs.seen.get(&name).and_then(|value| value.record.as_ref());
            let is_ours = seen.is_some_and(|record| record.is_live() && record.claim == claim);
            let in_flight = self.claim_refs.in_flight.contains(&claim);
            if !is_ours || in_flight || self.standing(&own) != Standing::Overwritten {
                continue;
            }
            let bead = self.replica.catalog().bead(&own.lineage);
            if bead.is_some_and(|bead| bead.claim.assignee.as_ref() != Some(&own.holder)) {
                let reason = format!("{} got the claim on the remote", own.holder);
                if self.award(&own.lineage, &own.holder, own.lease_ms, &reason).is_err() {
                    continue;
                }
            }
            let fence = self.replica.catalog().bead(&own.lineage).and_then(|bead| bead.claim.fence());
            if let (Some(fence), Some(kept)) = (fence, self.claim_refs.own.get_mut(&claim)) {
                kept.earlier.push(kept.fence);
                kept.fence = fence;
            }
        }
    }

    /// When the next ref has to be moved because its lease was renewed.
    pub fn next_renewal(&self) -> Option<Instant> {
        let due = |own: &Own| {
            let (_, at) = own.pushed.as_ref()?;
            if self.standing(own) != Standing::Stands || !self.was_renewed(own) {
                return None;
            }
            let left = (own.lease_ms / 2).saturating_sub(at.elapsed_ms()?);
            Instant::now().checked_add(Duration::from_millis(left))
        };
        self.claim_refs.own.values().filter_map(due).min()
    }

    /// Notes a claim that was made here without the remote.
    pub(in crate::service) fn note_made(&mut self, lineage: &Lineage, fence: beads_core::Stamp) {
        if self.claim_refs.of(lineage, fence).is_none() {
            self.claim_refs.made.insert(fence, lineage.clone());
        }
    }
}

fn stands(bead: &Bead, fence: beads_core::Stamp, now_ms: u64) -> bool {
    bead.claim.fence() == Some(fence)
        && bead.claim.is_taken()
        && !bead.claim.expired(now_ms)
        && bead.deletion.is_none()
        && bead.status.value.status != Status::Closed
}

/// How long a claim's lease was when it was last made longer.
fn lease_of(bead: &Bead) -> u64 {
    let end = bead.claim.expires.map_or(0, beads_core::Timestamp::ms);
    end.saturating_sub(bead.claim.expires_mark.at().ms()).max(1)
}

/// The last stamp that says that a bead is closed or deleted.
fn closed_at(bead: &Bead) -> beads_core::Stamp {
    let deleted = bead.deletion.as_ref().map(|deletion| deletion.mark.at());
    deleted.map_or(bead.status.mark.at(), |deleted| deleted.max(bead.status.mark.at()))
}
