//! What a machine's threads do.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use beads_core::op::{ClaimBead, ClaimNext, Close};
use beads_core::{CLAIM_REFS, Lineage, Op};
use beads_store::{Attempt, Caller, Outcome, Round, RoundResult, Steady, World};

use super::station::Station;
use super::{DrainReport, LEASE_MS, Machine, START_MS, Shared, caller};
use crate::dice::Dice;

/// As in the engine: candidates that are looked at, and how fresh a store needs no fetch before one is chosen.
const MAX_CANDIDATES: usize = 256;
const FRESH_MS: u64 = 2_000;

/// How often a machine looks whether something is due, and how long one that found nothing waits.
const TICK_MS: u64 = 100;
const WAIT_MS: u64 = 2_000;

/// No drain takes longer.
const LONGEST_MS: u64 = 24 * 60 * 60 * 1000;

/// What follows from a round.
enum Next {
    Claimed,
    /// Another bead.
    Another,
    Again,
    /// The remote's store first; then perhaps another bead.
    Fetch(bool),
}

/// One thread of one machine; its line to the remote and its clock too.
pub struct Worker<'a, 'm> {
    pub machine: &'m Machine<'a>,
    pub thread: usize,
}

impl Worker<'_, '_> {
    pub fn run(&self, work: impl FnOnce(&Self)) {
        self.shared().timeline.enter(self.thread);
        work(self);
        self.shared().timeline.leave();
    }

    pub fn shared(&self) -> &Shared<'_> {
        self.machine.shared
    }

    pub fn now_ms(&self) -> u64 {
        self.shared().timeline.now_ms()
    }

    pub fn sleep(&self, ms: u64) {
        self.shared().timeline.sleep_until(self.thread, self.now_ms() + ms);
    }

    /// The machine's state, with its wall clock set. It is never kept while time passes.
    fn station(&self) -> MutexGuard<'_, Station> {
        let station = self.machine.station.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = (START_MS + self.now_ms()).saturating_sub(station.world.now_ms());
        station.world.jump(i64::try_from(passed).unwrap_or(0));
        station
    }

    pub fn notes(&self) -> MutexGuard<'_, (DrainReport, BTreeSet<Lineage>)> {
        self.shared().notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.notes().0.claim_ms.len() >= self.shared().drain.beads || self.now_ms() > LONGEST_MS
    }

    pub fn claim_all(&self) {
        let caller = caller(&format!("agent-{}", self.machine.index));
        while !self.is_over() {
            let asked_ms = self.now_ms();
            let Some(lineage) = self.claim(&caller) else {
                self.sleep(WAIT_MS);
                continue;
            };
            self.note_claim(&lineage, asked_ms);
            self.sleep(self.shared().drain.work_ms);
            let now_ms = self.now_ms();
            let mut station = self.station();
            let id = station.replica.catalog().id_of(&lineage).to_string();
            station.apply(&Op::Close(Close { id, ..Close::default() }), &caller, now_ms);
        }
    }

    fn note_claim(&self, lineage: &Lineage, asked_ms: u64) {
        let now_ms = self.now_ms();
        let mut notes = self.notes();
        if !notes.1.insert(lineage.clone()) {
            notes.0.double += 1;
        }
        notes.0.claim_ms.push(now_ms - asked_ms);
        notes.0.ended_ms = now_ms;
    }

    /// `claim --next`, as the engine does it.
    fn claim(&self, caller: &Caller) -> Option<Lineage> {
        let (mut tried, mut exchanged) = (BTreeSet::new(), false);
        while !self.is_over() {
            let Some(lineage) = self.candidate(caller, &tried) else {
                if std::mem::replace(&mut exchanged, true) {
                    return None;
                }
                self.fetch();
                continue;
            };
            let (attempt, round) = self.begin(lineage.clone(), caller, exchanged);
            let result = round.run(&self.machine.repository, self, self).expect("nothing goes wrong here");
            match self.conclude(&attempt, result, caller) {
                Next::Claimed => return Some(lineage),
                Next::Another => drop(tried.insert(lineage)),
                Next::Again => {}
                Next::Fetch(excluded) => {
                    tried.extend(excluded.then_some(lineage));
                    exchanged = true;
                    self.fetch();
                }
            }
        }
        None
    }

    fn begin(&self, lineage: Lineage, caller: &Caller, exchanged: bool) -> (Attempt, Round) {
        let now_ms = self.now_ms();
        let station = &mut *self.station();
        let begun = station.book.begin(&mut station.replica, lineage, &caller.actor, LEASE_MS);
        let attempt = begun.expect("nothing goes wrong here");
        let fresh = station.fetched_ms.is_some_and(|ms| ms + FRESH_MS > now_ms);
        let (attempts, careful) = (vec![attempt.clone()], !fresh && !exchanged);
        (attempt, station.book.round(&station.replica, CLAIM_REFS.into(), attempts, careful))
    }

    fn conclude(&self, attempt: &Attempt, result: RoundResult, caller: &Caller) -> Next {
        let now_ms = self.now_ms();
        let station = &mut *self.station();
        let outcome = station.book.round_done(result, &self.now()).pop().unwrap_or(Outcome::Gone);
        station.book.tried(&attempt.record.claim, Some(&outcome));
        if outcome.is_won() {
            station.budget.pushed(Duration::from_millis(now_ms));
        }
        if !matches!(outcome, Outcome::Behind) {
            self.notes().0.tries += 1;
        }
        match outcome {
            Outcome::Won(..) => {
                let id = station.replica.catalog().id_of(&attempt.record.lineage).to_string();
                let at = (!attempt.existing).then_some(attempt.record.fence);
                let op = Op::Claim(ClaimBead { id, lease_ms: Some(LEASE_MS), at, ..ClaimBead::default() });
                if !station.apply(&op, caller, now_ms) {
                    return Next::Another;
                }
                station.book.claimed(&attempt.record.claim, station.replica.catalog());
                Next::Claimed
            }
            Outcome::Held(_) => Next::Another,
            Outcome::Low(_) | Outcome::Gone => Next::Again,
            Outcome::WonTooLate => Next::Fetch(true),
            Outcome::Behind => Next::Fetch(false),
            Outcome::WonUnseen(_) | Outcome::Refused(_) => panic!("nothing goes wrong here"),
        }
    }

    fn candidate(&self, caller: &Caller, tried: &BTreeSet<Lineage>) -> Option<Lineage> {
        let next = ClaimNext { spread: Some(self.machine.index.to_string()), ..ClaimNext::default() };
        let (station, now) = (self.station(), self.now());
        let (catalog, now_ms) = (station.replica.catalog(), station.replica.now_ms());
        let found = next.candidates(catalog, &caller.actor, now_ms, MAX_CANDIDATES);
        let is_free = |lineage: &Lineage| {
            !tried.contains(lineage)
                && !station.book.is_in_flight(lineage)
                && !station.book.is_held_elsewhere(lineage, &now)
        };
        found.expect("nothing goes wrong here").into_iter().find(is_free)
    }

    /// Takes in what the remote has; an exchange under way does that as well.
    fn fetch(&self) {
        if self.station().exchanging {
            while self.station().exchanging {
                self.sleep(TICK_MS);
            }
            return;
        }
        let (checkpoint, look) = {
            let mut station = self.station();
            (station.begin(), station.book.look(CLAIM_REFS.into()))
        };
        let fetched = checkpoint.fetch(&self.machine.repository, self);
        let looked = look.run(&self.machine.repository, self, self).expect("nothing goes wrong here");
        let now_ms = self.now_ms();
        let station = &mut *self.station();
        let (saved, exchange) = fetched.expect("nothing goes wrong here");
        exchange.expect("nothing goes wrong here");
        station.replica.finish_checkpoint(saved, Vec::new()).expect("nothing goes wrong here");
        station.book.upkept(&mut station.replica, looked, &self.now());
        (station.exchanging, station.fetched_ms) = (false, Some(now_ms));
    }

    pub fn save_all(&self) {
        while !self.is_over() {
            self.sleep(TICK_MS);
            let now_ms = self.now_ms();
            let is_due = {
                let station = self.station();
                !station.exchanging && station.due_ms(&self.shared().drain.policy, now_ms) <= now_ms
            };
            if is_due {
                self.exchange();
            }
        }
    }

    fn exchange(&self) {
        let policy = &self.shared().drain.policy;
        let begun_ms = self.now_ms();
        let (checkpoint, upkeep, mut dice) = {
            let mut station = self.station();
            let upkeep = station.book.upkeep(&station.replica, CLAIM_REFS.into(), &self.now());
            (station.changed, station.owed) = (None, false);
            let dice = Dice::new(station.dice.roll());
            (station.begin(), upkeep, dice)
        };
        let pause = |round: u32| {
            let (first, step) = policy.pause_ms;
            let longest = first + step * (i64::from(round) - 1);
            self.sleep(dice.below(u64::try_from(longest).unwrap_or(0) + 1));
        };
        let synced = checkpoint.sync(&self.machine.repository, self, pause);
        let (saved, exchange) = synced.expect("nothing goes wrong here");
        let upkept = exchange.is_ok().then(|| upkeep.run(&self.machine.repository, self, self));
        let now_ms = self.now_ms();
        let station = &mut *self.station();
        station.replica.finish_checkpoint(saved, Vec::new()).expect("nothing goes wrong here");
        if let Some(upkept) = upkept {
            station.book.upkept(&mut station.replica, upkept.expect("nothing goes wrong here"), &self.now());
        }
        station.exchanged(exchange, (begun_ms, now_ms));
    }
}
