//! The claim refs that a clone knows, and the decisions that follow from them.

use std::collections::{BTreeMap, BTreeSet};

use beads_core::planted::{Bug, is_planted};
use beads_core::{Actor, Bead, Catalog, ClaimRecord, ClaimState, Lineage, Stamp, Status};

use super::claim_status::{ClaimStatus, closed_at, is_current, lease_of, remaining_lease};
use super::outcome::Outcome;
use super::own::OwnClaim;
use super::round::{Round, RoundResult};
use super::upkeep::{Move, MoveKind, Upkeep, UpkeepResult};
use super::uptime::Uptime;
use super::watch::Watch;
use super::withdraw::{assign_claim, withdraw};
use crate::Result;
use crate::claim_refs::{ClaimListing, ClaimValue};
use crate::disk::Disk;
use crate::replica::Replica;
use crate::world::World;

/// How many refs one upkeep moves.
const MAX_MOVES: usize = 200;

/// How long a claim that was given up is remembered, because a push whose answer was lost may still arrive.
const LATE_PUSH_MS: u64 = 60 * 60 * 1000;

/// The claims of a clone by claim id, and the claim refs last seen on the remote.
#[derive(Debug, Default)]
pub struct ClaimBook {
    /// The claims of this clone, by claim id.
    pub own: BTreeMap<String, OwnClaim>,
    /// How long each claim ref has had its value.
    pub watch: Watch,
    /// The claim refs as of the last listing.
    pub seen: BTreeMap<String, ClaimValue>,
    /// The ids of claims that another thread is attempting.
    pub in_flight: BTreeSet<String>,
    /// Claims made here while the remote was not reachable, to be confirmed later.
    pub offline_claims: BTreeMap<Stamp, Lineage>,
}

/// A value to be pushed to a claim ref.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The value.
    pub record: ClaimRecord,
    /// Whether the claim is already in the store and only has to be confirmed.
    pub existing: bool,
    /// When the bead's status was last written here.
    pub(super) status_at: Option<Stamp>,
}

/// What an upkeep found, besides its changes to the book.
#[derive(Debug, Default)]
pub struct UpkeepReport {
    /// Claims that could not be written to the store, and why.
    pub remarks: Vec<String>,
    /// Why the server refuses claim refs.
    pub refused: Option<String>,
}

impl ClaimBook {
    /// Records a listing of the remote.
    pub(crate) fn record_listing(&mut self, seen: ClaimListing, now: &Uptime) {
        self.watch.note(&seen, now);
        self.seen = seen.refs;
    }

    /// Returns whether another machine's claim on a bead is running, as far as is known here.
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

    /// Returns whether another thread is attempting a claim on a bead.
    pub fn is_in_flight(&self, lineage: &Lineage) -> bool {
        self.in_flight.iter().any(|claim| self.own.get(claim).is_some_and(|own| own.lineage == *lineage))
    }

    /// Returns the claim of this clone on a bead with a fence.
    pub fn of(&self, lineage: &Lineage, fence: Stamp) -> Option<(&String, &OwnClaim)> {
        self.own.iter().find(|(_, own)| own.lineage == *lineage && own.fence == fence)
    }

    /// Returns the current fence of a claim. Returns `fence` itself if it is of no claim of this clone.
    pub fn current_fence(&self, fence: Stamp) -> Stamp {
        self.own.values().find(|own| own.earlier.contains(&fence)).map_or(fence, |own| own.fence)
    }

    /// Returns whether the remote confirms this clone's claim on a bead: only while it is current, and no
    /// other machine can have taken over its ref. Returns `None` if the claim is not of this clone.
    pub fn is_confirmed(&self, lineage: &Lineage, bead: &Bead, now_ms: u64, now: &Uptime) -> Option<bool> {
        let fence = bead.claim.fence().filter(|_| bead.claim.is_taken())?;
        self.of(lineage, fence).map(|(_, own)| own.is_safe(now) && is_current(bead, fence, now_ms))
    }

    /// Begins a claim on a bead, and returns the value to push.
    ///
    /// The claim is added to the book before the remote is contacted. If this process dies, the next one
    /// knows that the claim was its own.
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
            // An offer is accepted with a new claim.
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
        self.own.insert(record.claim.clone(), OwnClaim::attempted(&record, now_ms));
        Ok(Attempt { record, existing: existing.is_some(), status_at })
    }

    /// Returns the round that makes these attempts. With `require_current`, nothing is attempted if the
    /// remote's store has changes that are missing here.
    pub fn round<D: Disk, W: World>(
        &self,
        replica: &Replica<D, W>,
        prefix: String,
        attempts: Vec<Attempt>,
        require_current: bool,
    ) -> Round {
        let own = self.own.keys().cloned().collect();
        let known_tip = replica.known_tip().map(str::to_owned);
        Round { prefix, attempts, own, watch: self.watch.clone(), known_tip, require_current }
    }

    /// Records the listing of a finished round, and returns its outcomes.
    pub fn round_finished(&mut self, result: RoundResult, now: &Uptime) -> Vec<Outcome> {
        self.record_listing(result.seen, now);
        result.outcomes
    }

    /// Records the outcome of one attempt. `None` means that the remote did not answer. Then it is unknown
    /// whether the ref was won, and the claim stays in the book until a listing shows it.
    pub fn attempt_finished(&mut self, claim: &str, outcome: Option<&Outcome>) {
        self.in_flight.remove(claim);
        match outcome {
            Some(Outcome::Won(commit, began)) => {
                if let Some(own) = self.own.get_mut(claim) {
                    own.pushed = Some((commit.clone(), began.clone()));
                }
            }
            // The next exchange confirms the claim, or gives up the ref if the store has no such claim.
            Some(Outcome::WonButClosed | Outcome::WonUnchecked(_)) | None => {}
            Some(
                Outcome::Held(_)
                | Outcome::FenceTooLow(_)
                | Outcome::Gone
                | Outcome::StoreBehind
                | Outcome::Refused(_),
            ) => drop(self.own.remove(claim)),
        }
    }

    /// Records that the claim is in the store now.
    pub fn claimed(&mut self, claim: &str, catalog: &Catalog) {
        if let Some(own) = self.own.get_mut(claim) {
            own.expires = catalog.bead(&own.lineage).and_then(|bead| bead.claim.expires);
        }
    }

    /// Records a claim that was made here without the remote.
    pub fn note_offline_claim(&mut self, lineage: &Lineage, fence: Stamp) {
        if self.of(lineage, fence).is_none() {
            self.offline_claims.insert(fence, lineage.clone());
        }
    }

    /// Gives claims that were made without the remote a claim id, so that the next upkeep pushes their refs.
    pub fn adopt_offline_claims<D: Disk, W: World>(&mut self, replica: &mut Replica<D, W>) {
        let now_ms = replica.now_ms();
        for (fence, lineage) in std::mem::take(&mut self.offline_claims) {
            let bead = replica.catalog().bead(&lineage).filter(|bead| is_current(bead, fence, now_ms));
            let held = bead.and_then(|bead| {
                Some((bead.claim.assignee.clone()?, lease_of(bead).max(remaining_lease(bead, now_ms))))
            });
            if let Some((holder, lease_ms)) = held.filter(|_| self.of(&lineage, fence).is_none()) {
                let claim = replica.random_name();
                let state = ClaimState::Live;
                let record = ClaimRecord { claim: claim.clone(), fence, holder, lease_ms, lineage, state };
                self.own.insert(claim, OwnClaim::attempted(&record, now_ms));
            }
        }
    }

    /// Returns what has to be done with claim refs after the exchange that begins now. The exchange's
    /// checkpoint decides which claims have ended.
    pub fn upkeep<D: Disk, W: World>(&self, replica: &Replica<D, W>, prefix: String, now: &Uptime) -> Upkeep {
        let (catalog, now_ms) = (replica.catalog(), replica.now_ms());
        let mut moves = self.own_moves(catalog, now_ms, now);
        let taken: BTreeSet<String> = moves.values().map(|one| one.record.claim.clone()).collect();
        for one in self.foreign_ended(replica, now) {
            if !taken.contains(&one.record.claim) {
                moves.entry(one.record.lineage.claim_name()).or_insert(one);
            }
        }
        Upkeep {
            prefix,
            moves: moves.into_values().take(MAX_MOVES).collect(),
            own: self.own.keys().cloned().collect(),
            watch: self.watch.clone(),
            deletes_old_refs: true,
        }
    }

    /// Returns an upkeep that lists the claim refs and moves none.
    pub fn listing_only(&self, prefix: String) -> Upkeep {
        let (moves, own, watch) = (Vec::new(), BTreeSet::new(), self.watch.clone());
        Upkeep { prefix, moves, own, watch, deletes_old_refs: false }
    }

    /// Returns at most one move per ref. A current claim takes precedence over one that has ended.
    fn own_moves(&self, catalog: &Catalog, now_ms: u64, now: &Uptime) -> BTreeMap<String, Move> {
        let mut moves: BTreeMap<String, Move> = BTreeMap::new();
        for (claim, own) in &self.own {
            if self.in_flight.contains(claim) {
                continue;
            }
            let record = own.record(claim);
            let bead = catalog.bead(&own.lineage);
            let one = match self.status_of(own, catalog, now_ms, now) {
                ClaimStatus::Overwritten => continue,
                ClaimStatus::Ended => {
                    let last = bead.map_or(own.fence, |bead| bead.claim.mark.at());
                    Move { kind: MoveKind::End, record: record.ended(last) }
                }
                ClaimStatus::Current if own.pushed.is_none() => Move { kind: MoveKind::Confirm, record },
                ClaimStatus::Current if was_renewed(own, catalog) && own.is_half_over(now) => {
                    // Never shorter: if the answer is lost, the holder relies on the lease it knows.
                    let renewed = bead.map_or(0, |bead| lease_of(bead));
                    let lease_ms = renewed.max(own.lease_ms);
                    Move { kind: MoveKind::Renew, record: ClaimRecord { lease_ms, ..record } }
                }
                ClaimStatus::Current => continue,
            };
            let name = own.lineage.claim_name();
            if one.kind != MoveKind::End || !moves.contains_key(&name) {
                moves.insert(name, one);
            }
        }
        moves
    }

    /// Returns what the store says about a claim of this clone.
    fn status_of(&self, own: &OwnClaim, catalog: &Catalog, now_ms: u64, now: &Uptime) -> ClaimStatus {
        let Some(bead) = catalog.bead(&own.lineage) else { return ClaimStatus::Ended };
        if is_current(bead, own.fence, now_ms) {
            return ClaimStatus::Current;
        }
        let claim = &bead.claim;
        let open = bead.deletion.is_none() && bead.status.value.status != Status::Closed;
        let later = claim.is_taken() && claim.mark.at() > own.fence && !claim.expired(now_ms);
        let made_here = claim.fence().is_some_and(|fence| {
            self.offline_claims.contains_key(&fence) || self.of(&own.lineage, fence).is_some()
        });
        // A holder gives its claim away by offering it to another agent.
        match open && later && !made_here && !bead.is_offer() && own.is_safe(now) {
            true => ClaimStatus::Overwritten,
            false => ClaimStatus::Ended,
        }
    }

    /// Returns moves for claims of other machines that have ended according to the store: their bead was
    /// closed, deleted or released by a machine that does not know of the ref, or the machine that held the
    /// claim is gone.
    fn foreign_ended<D: Disk, W: World>(&self, replica: &Replica<D, W>, now: &Uptime) -> Vec<Move> {
        let live = self.seen.iter().filter_map(|(name, value)| Some((name, value, value.record.as_ref()?)));
        let foreign = live.filter(|(_, _, record)| record.is_live() && !self.own.contains_key(&record.claim));
        let ended = foreign.filter_map(|(name, value, record)| {
            let bead = replica.catalog().bead(&record.lineage)?;
            let closed = bead.deletion.is_some() || bead.status.value.status == Status::Closed;
            let closed_since = closed && closed_at(bead) > record.fence;
            let free = bead.claim.assignee.is_none() || bead.is_offer();
            // A previous holder, unaware of this claim, may have released its own. The current holder's
            // machine has to see that first.
            let by_holder = *bead.claim.mark.by() == record.holder;
            let known = by_holder || self.watch.has_expired(name, value, now);
            let given_back = free && known && bead.claim.mark.at() > record.fence;
            let last = bead.claim.mark.at().max(closed_at(bead));
            let by_wall_clock = is_planted(Bug::ExpiryByWallClock) && bead.claim.expired(replica.now_ms());
            let over = closed_since || given_back || by_wall_clock;
            over.then(|| Move { kind: MoveKind::End, record: record.ended(last) })
        });
        ended.collect()
    }

    /// Records the result of an upkeep.
    pub fn upkeep_finished<D: Disk, W: World>(
        &mut self,
        replica: &mut Replica<D, W>,
        result: UpkeepResult,
        now: &Uptime,
    ) -> UpkeepReport {
        let now_ms = replica.now_ms();
        let mut upkept = UpkeepReport::default();
        self.record_listing(result.seen, now);
        for (Move { kind, record }, outcome) in result.moved {
            match (kind, outcome) {
                (MoveKind::End, Outcome::Won(..)) => drop(self.own.remove(&record.claim)),
                (MoveKind::End, Outcome::Gone) => {
                    let own = self.own.get(&record.claim);
                    if own.is_some_and(|own| own.pushed.is_some() || own.since_ms + LATE_PUSH_MS < now_ms) {
                        self.own.remove(&record.claim);
                    }
                }
                (MoveKind::Confirm | MoveKind::Renew, Outcome::Won(commit, began)) => {
                    let bead = replica.catalog().bead(&record.lineage);
                    let expires = bead.and_then(|bead| bead.claim.expires);
                    if let Some(own) = self.own.get_mut(&record.claim) {
                        (own.pushed, own.expires) = (Some((commit, began)), expires);
                        own.lease_ms = record.lease_ms;
                    }
                }
                (MoveKind::Confirm | MoveKind::Renew, Outcome::Held(winner)) => {
                    self.own.remove(&record.claim);
                    let winner = winner.filter(ClaimRecord::is_live);
                    let lost = winner.map(|winner| withdraw(replica, &record.lineage, record.fence, &winner));
                    if let Some(Err(error)) = lost {
                        upkept.remarks.push(format!("a lost claim was not withdrawn: {error}"));
                    }
                }
                (_, Outcome::Refused(reason)) => upkept.refused = Some(reason),
                // Another machine moved the ref in the meantime. The next upkeep looks again.
                _ => {}
            }
        }
        self.restore_overwritten_claims(replica, now);
        upkept
    }

    /// Writes claims to the store again if their ref is ours but an unconfirmed claim of another machine
    /// overwrote them. Their holders may continue to use the fence they know.
    fn restore_overwritten_claims<D: Disk, W: World>(&mut self, replica: &mut Replica<D, W>, now: &Uptime) {
        let claims: Vec<(String, OwnClaim)> =
            self.own.iter().map(|(claim, own)| (claim.clone(), own.clone())).collect();
        for (claim, own) in claims {
            let name = own.lineage.claim_name();
            let seen = self.seen.get(&name).and_then(|value| value.record.as_ref());
            let is_ours = seen.is_some_and(|record| record.is_live() && record.claim == claim);
            let status = self.status_of(&own, replica.catalog(), replica.now_ms(), now);
            if !is_ours || self.in_flight.contains(&claim) || status != ClaimStatus::Overwritten {
                continue;
            }
            let bead = replica.catalog().bead(&own.lineage);
            if bead.is_some_and(|bead| bead.claim.assignee.as_ref() != Some(&own.holder)) {
                let reason = format!("{} got the claim on the remote", own.holder);
                if assign_claim(replica, &own.lineage, &own.holder, own.lease_ms, &reason).is_err() {
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

    /// Returns how long until the next ref has to be moved because its lease was renewed.
    pub fn next_renewal_ms(&self, catalog: &Catalog, now_ms: u64, now: &Uptime) -> Option<u64> {
        let due = |own: &OwnClaim| {
            let (_, at) = own.pushed.as_ref()?;
            let renewed = was_renewed(own, catalog);
            if !renewed || self.status_of(own, catalog, now_ms, now) != ClaimStatus::Current {
                return None;
            }
            Some((own.lease_ms / 2).saturating_sub(at.elapsed_ms(now)?))
        };
        self.own.values().filter_map(due).min()
    }
}

fn was_renewed(own: &OwnClaim, catalog: &Catalog) -> bool {
    catalog.bead(&own.lineage).is_some_and(|bead| bead.claim.expires != own.expires)
}
