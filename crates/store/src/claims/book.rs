//! What a clone knows of claim refs, and what follows from it.

use std::collections::{BTreeMap, BTreeSet};

use beads_core::planted::{Bug, is_planted};
use beads_core::{Actor, Bead, Catalog, ClaimRecord, ClaimState, Lineage, Stamp, Status};

use super::outcome::Outcome;
use super::own::Own;
use super::round::{Round, RoundResult};
use super::standing::{Standing, closed_at, lease_of, left_of, stands};
use super::upkeep::{Kind, Move, Upkeep, UpkeepResult};
use super::uptime::Uptime;
use super::watch::Watch;
use super::withdraw::{award, withdraw};
use crate::Result;
use crate::claim_refs::{ClaimValue, ClaimsSeen};
use crate::disk::Disk;
use crate::replica::Replica;
use crate::wall::World;

/// How many refs one upkeep moves.
const MAX_MOVES: usize = 200;

/// A push whose answer was lost may still arrive; so long a claim that was given up is remembered.
const LATE_MS: u64 = 60 * 60 * 1000;

/// The claims of a clone by claim id, and what was last seen of all.
#[derive(Debug, Default)]
pub struct ClaimBook {
    pub own: BTreeMap<String, Own>,
    pub watch: Watch,
    /// As of the last look.
    pub seen: BTreeMap<String, ClaimValue>,
    /// Claims under way in another thread.
    pub in_flight: BTreeSet<String>,
    /// Claims made here without the remote, to be confirmed when it can be reached.
    pub made: BTreeMap<Stamp, Lineage>,
}

/// One value that is offered to the remote.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub record: ClaimRecord,
    /// The claim is in the store already and only wants to be confirmed.
    pub existing: bool,
    /// When the bead's status was last written here.
    pub(super) status_at: Option<Stamp>,
}

/// What an upkeep brought to light besides what is in the book.
#[derive(Debug, Default)]
pub struct Upkept {
    /// Claims that could not be written into the store, and why.
    pub remarks: Vec<String>,
    /// Why the server takes no claim refs.
    pub refused: Option<String>,
}

impl ClaimBook {
    /// Takes note of a look at the remote.
    pub fn saw(&mut self, seen: ClaimsSeen, now: &Uptime) {
        self.watch.note(&seen, now);
        self.seen = seen.refs;
    }

    /// Whether another machine's claim on a bead runs, as far as is known here.
    pub fn is_held_elsewhere(&self, lineage: &Lineage, now: &Uptime) -> bool {
        let name = lineage.claim_name();
        self.seen.get(&name).is_some_and(|value| {
            let ended = value
                .record
                .as_ref()
                .is_some_and(|record| !record.is_live() || self.own.contains_key(&record.claim));
            !ended && !self.watch.has_expired(&name, value, now)
        })
    }

    pub fn is_in_flight(&self, lineage: &Lineage) -> bool {
        self.in_flight.iter().any(|claim| self.own.get(claim).is_some_and(|own| own.lineage == *lineage))
    }

    /// The claim of this clone on a bead under a fence.
    pub fn of(&self, lineage: &Lineage, fence: Stamp) -> Option<(&String, &Own)> {
        self.own.iter().find(|(_, own)| own.lineage == *lineage && own.fence == fence)
    }

    /// The fence that a claim has now; fences of nobody's claim here stay as they are.
    pub fn current(&self, fence: Stamp) -> Stamp {
        self.own.values().find(|own| own.earlier.contains(&fence)).map_or(fence, |own| own.fence)
    }

    /// Whether the remote vouches for the claim of this clone that the store has on a bead: only as long as it stands there, and
    /// nobody can have taken its ref over. `None` when it is no claim of this clone.
    pub fn is_confirmed(&self, lineage: &Lineage, bead: &Bead, now_ms: u64, now: &Uptime) -> Option<bool> {
        let fence = bead.claim.fence().filter(|_| bead.claim.is_taken())?;
        self.of(lineage, fence).map(|(_, own)| own.is_safe(now) && stands(bead, fence, now_ms))
    }

    /// The value that a claim on a bead offers to the remote. It is in the book before anything is asked of the remote: should
    /// this process die, the next one knows whose claim that was.
    pub fn begin<D: Disk, W: World>(
        &mut self,
        replica: &mut Replica<D, W>,
        lineage: Lineage,
        holder: &Actor,
        lease_ms: u64,
    ) -> Result<Attempt> {
        let now_ms = replica.now_ms();
        let bead = replica.catalog().bead(&lineage);
        let held = bead
            .filter(|bead| bead.claim.is_taken() && bead.claim.holder(now_ms) == Some(holder))
            // An offer is taken up with a claim of its own.
            .filter(|bead| !bead.is_offer());
        let existing = held.and_then(|bead| bead.claim.fence());
        let status_at = bead.map(|bead| bead.status.mark.at());
        let seen = self.seen.get(&lineage.claim_name()).and_then(|value| value.record.as_ref());
        let seen = seen.map(|record| record.fence);
        let fence = match existing {
            Some(fence) => fence,
            None => replica.reserve_stamp(&lineage, seen)?,
        };
        let claim = replica.random_name();
        let record =
            ClaimRecord { claim, fence, holder: holder.clone(), lease_ms, lineage, state: ClaimState::Live };
        self.in_flight.insert(record.claim.clone());
        self.own.insert(record.claim.clone(), Own::tried(&record, now_ms));
        Ok(Attempt { record, existing: existing.is_some(), status_at })
    }

    /// The round in which these attempts are made. `careful`: not before the store here has what the remote's has.
    pub fn round<D: Disk, W: World>(
        &self,
        replica: &Replica<D, W>,
        prefix: String,
        attempts: Vec<Attempt>,
        careful: bool,
    ) -> Round {
        let own = self.own.keys().cloned().collect();
        let base = replica.base().map(str::to_owned);
        Round { prefix, attempts, own, watch: self.watch.clone(), base, careful }
    }

    /// Takes in what a round saw.
    pub fn round_done(&mut self, result: RoundResult, now: &Uptime) -> Vec<Outcome> {
        self.saw(result.seen, now);
        result.outcomes
    }

    /// Takes in what became of one attempt. `None`: the remote did not answer, so whether the ref was won is not known; it stays
    /// among the own ones until that is seen.
    pub fn tried(&mut self, claim: &str, outcome: Option<&Outcome>) {
        self.in_flight.remove(claim);
        match outcome {
            Some(Outcome::Won(commit, began)) => {
                if let Some(own) = self.own.get_mut(claim) {
                    own.pushed = Some((commit.clone(), began.clone()));
                }
            }
            // The next exchange confirms the claim, or gives the ref back if the store has no such claim.
            Some(Outcome::WonTooLate | Outcome::WonUnseen(_)) | None => {}
            Some(
                Outcome::Held(_) | Outcome::Low(_) | Outcome::Gone | Outcome::Behind | Outcome::Refused(_),
            ) => drop(self.own.remove(claim)),
        }
    }

    /// The claim is in the store now.
    pub fn claimed(&mut self, claim: &str, catalog: &Catalog) {
        if let Some(own) = self.own.get_mut(claim) {
            own.expires = catalog.bead(&own.lineage).and_then(|bead| bead.claim.expires);
        }
    }

    /// Notes a claim that was made here without the remote.
    pub fn note_made(&mut self, lineage: &Lineage, fence: Stamp) {
        if self.of(lineage, fence).is_none() {
            self.made.insert(fence, lineage.clone());
        }
    }

    /// Claims made here without the remote get refs like the others.
    pub fn adopt_made<D: Disk, W: World>(&mut self, replica: &mut Replica<D, W>) {
        let now_ms = replica.now_ms();
        for (fence, lineage) in std::mem::take(&mut self.made) {
            let bead = replica.catalog().bead(&lineage).filter(|bead| stands(bead, fence, now_ms));
            let held = bead.and_then(|bead| {
                Some((bead.claim.assignee.clone()?, lease_of(bead).max(left_of(bead, now_ms))))
            });
            if let Some((holder, lease_ms)) = held.filter(|_| self.of(&lineage, fence).is_none()) {
                let claim = replica.random_name();
                let state = ClaimState::Live;
                let record = ClaimRecord { claim: claim.clone(), fence, holder, lease_ms, lineage, state };
                self.own.insert(claim, Own::tried(&record, now_ms));
            }
        }
    }

    /// What is to be done with claim refs after the exchange that begins now: the checkpoint that was set aside for it says
    /// what is over.
    pub fn upkeep<D: Disk, W: World>(&self, replica: &Replica<D, W>, prefix: String, now: &Uptime) -> Upkeep {
        let (catalog, now_ms) = (replica.catalog(), replica.now_ms());
        let mut moves = self.own_moves(catalog, now_ms, now);
        let taken: BTreeSet<String> = moves.values().map(|one| one.record.claim.clone()).collect();
        for one in self.foreign_ends(replica, now) {
            if !taken.contains(&one.record.claim) {
                moves.entry(one.record.lineage.claim_name()).or_insert(one);
            }
        }
        Upkeep {
            prefix,
            moves: moves.into_values().take(MAX_MOVES).collect(),
            own: self.own.keys().cloned().collect(),
            watch: self.watch.clone(),
            tidies: true,
        }
    }

    /// A look at the claim refs that moves none.
    pub fn look(&self, prefix: String) -> Upkeep {
        let (moves, own, watch) = (Vec::new(), BTreeSet::new(), self.watch.clone());
        Upkeep { prefix, moves, own, watch, tidies: false }
    }

    /// One move per ref: a claim that stands replaces one that is over.
    fn own_moves(&self, catalog: &Catalog, now_ms: u64, now: &Uptime) -> BTreeMap<String, Move> {
        let mut moves: BTreeMap<String, Move> = BTreeMap::new();
        for (claim, own) in &self.own {
            if self.in_flight.contains(claim) {
                continue;
            }
            let record = own.record(claim);
            let bead = catalog.bead(&own.lineage);
            let one = match self.standing(own, catalog, now_ms, now) {
                Standing::Overwritten => continue,
                Standing::Over => {
                    let last = bead.map_or(own.fence, |bead| bead.claim.mark.at());
                    Move { kind: Kind::End, record: record.over(last) }
                }
                Standing::Stands if own.pushed.is_none() => Move { kind: Kind::Confirm, record },
                Standing::Stands if was_renewed(own, catalog) && own.is_half_over(now) => {
                    // Never shorter: should the answer be lost, the holder counts on the lease that it knows.
                    let renewed = bead.map_or(0, |bead| lease_of(bead));
                    let lease_ms = renewed.max(own.lease_ms);
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

    fn standing(&self, own: &Own, catalog: &Catalog, now_ms: u64, now: &Uptime) -> Standing {
        let Some(bead) = catalog.bead(&own.lineage) else { return Standing::Over };
        if stands(bead, own.fence, now_ms) {
            return Standing::Stands;
        }
        let claim = &bead.claim;
        let open = bead.deletion.is_none() && bead.status.value.status != Status::Closed;
        let later = claim.is_taken() && claim.mark.at() > own.fence && !claim.expired(now_ms);
        let made_here = claim
            .fence()
            .is_some_and(|fence| self.made.contains_key(&fence) || self.of(&own.lineage, fence).is_some());
        // An offer to another agent is how a holder gives its claim away.
        match open && later && !made_here && !bead.is_offer() && own.is_safe(now) {
            true => Standing::Overwritten,
            false => Standing::Over,
        }
    }

    /// Claims of other machines that the store says are over: closed, deleted or given back by a machine that knows nothing
    /// of their refs, or whose own machine is gone.
    fn foreign_ends<D: Disk, W: World>(&self, replica: &Replica<D, W>, now: &Uptime) -> Vec<Move> {
        let live = self.seen.iter().filter_map(|(name, value)| Some((name, value, value.record.as_ref()?)));
        let foreign = live.filter(|(_, _, record)| record.is_live() && !self.own.contains_key(&record.claim));
        let ended = foreign.filter_map(|(name, value, record)| {
            let bead = replica.catalog().bead(&record.lineage)?;
            let closed = bead.deletion.is_some() || bead.status.value.status == Status::Closed;
            let closed_since = closed && closed_at(bead) > record.fence;
            let free = bead.claim.assignee.is_none() || bead.is_offer();
            // A holder before, who did not know of this claim, gives back its own: the holder's machine must see that first.
            let by_holder = *bead.claim.mark.by() == record.holder;
            let known = by_holder || self.watch.has_expired(name, value, now);
            let given_back = free && known && bead.claim.mark.at() > record.fence;
            let last = bead.claim.mark.at().max(closed_at(bead));
            let by_wall_clock = is_planted(Bug::ExpiryByWallClock) && bead.claim.expired(replica.now_ms());
            let over = closed_since || given_back || by_wall_clock;
            over.then(|| Move { kind: Kind::End, record: record.over(last) })
        });
        ended.collect()
    }

    /// Takes in what an upkeep did.
    pub fn upkept<D: Disk, W: World>(
        &mut self,
        replica: &mut Replica<D, W>,
        result: UpkeepResult,
        now: &Uptime,
    ) -> Upkept {
        let now_ms = replica.now_ms();
        let mut upkept = Upkept::default();
        self.saw(result.seen, now);
        for (Move { kind, record }, outcome) in result.moved {
            match (kind, outcome) {
                (Kind::End, Outcome::Won(..)) => drop(self.own.remove(&record.claim)),
                (Kind::End, Outcome::Gone) => {
                    let own = self.own.get(&record.claim);
                    if own.is_some_and(|own| own.pushed.is_some() || own.since_ms + LATE_MS < now_ms) {
                        self.own.remove(&record.claim);
                    }
                }
                (Kind::Confirm | Kind::Renew, Outcome::Won(commit, began)) => {
                    let bead = replica.catalog().bead(&record.lineage);
                    let expires = bead.and_then(|bead| bead.claim.expires);
                    if let Some(own) = self.own.get_mut(&record.claim) {
                        (own.pushed, own.expires) = (Some((commit, began)), expires);
                        own.lease_ms = record.lease_ms;
                    }
                }
                (Kind::Confirm | Kind::Renew, Outcome::Held(winner)) => {
                    self.own.remove(&record.claim);
                    let winner = winner.filter(ClaimRecord::is_live);
                    let lost = winner.map(|winner| withdraw(replica, &record.lineage, record.fence, &winner));
                    if let Some(Err(error)) = lost {
                        upkept.remarks.push(format!("a lost claim was not withdrawn: {error}"));
                    }
                }
                (_, Outcome::Refused(reason)) => upkept.refused = Some(reason),
                // Another machine moved the ref meanwhile; the next upkeep looks again.
                _ => {}
            }
        }
        self.assert_own(replica, now);
        upkept
    }

    /// A claim whose ref is ours and that an unconfirmed one of another machine overwrote in the store is written again. Its
    /// holder may go on with the fence it knows.
    fn assert_own<D: Disk, W: World>(&mut self, replica: &mut Replica<D, W>, now: &Uptime) {
        let claims: Vec<(String, Own)> =
            self.own.iter().map(|(claim, own)| (claim.clone(), own.clone())).collect();
        for (claim, own) in claims {
            let name = own.lineage.claim_name();
            let seen = self.seen.get(&name).and_then(|value| value.record.as_ref());
            let is_ours = seen.is_some_and(|record| record.is_live() && record.claim == claim);
            let standing = self.standing(&own, replica.catalog(), replica.now_ms(), now);
            if !is_ours || self.in_flight.contains(&claim) || standing != Standing::Overwritten {
                continue;
            }
            let bead = replica.catalog().bead(&own.lineage);
            if bead.is_some_and(|bead| bead.claim.assignee.as_ref() != Some(&own.holder)) {
                let reason = format!("{} got the claim on the remote", own.holder);
                if award(replica, &own.lineage, &own.holder, own.lease_ms, &reason).is_err() {
                    continue;
                }
            }
            let fence = replica.catalog().bead(&own.lineage).and_then(|bead| bead.claim.fence());
            if let (Some(fence), Some(kept)) = (fence, self.own.get_mut(&claim)) {
                kept.earlier.push(kept.fence);
                kept.fence = fence;
            }
        }
    }

    /// How long until the next ref has to be moved because its lease was renewed.
    pub fn next_renewal_ms(&self, catalog: &Catalog, now_ms: u64, now: &Uptime) -> Option<u64> {
        let due = |own: &Own| {
            let (_, at) = own.pushed.as_ref()?;
            let renewed = was_renewed(own, catalog);
            if !renewed || self.standing(own, catalog, now_ms, now) != Standing::Stands {
                return None;
            }
            Some((own.lease_ms / 2).saturating_sub(at.elapsed_ms(now)?))
        };
        self.own.values().filter_map(due).min()
    }
}

fn was_renewed(own: &Own, catalog: &Catalog) -> bool {
    catalog.bead(&own.lineage).is_some_and(|bead| bead.claim.expires != own.expires)
}
