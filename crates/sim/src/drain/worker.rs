//! The threads of a machine.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use beads_core::op::{ClaimBead, ClaimNext, Close};
use beads_core::{CLAIM_REFS, Lineage, Op};
use beads_store::{Attempt, Caller, Outcome, Round, RoundResult, SteadyClock, World};

use super::machine_state::MachineState;
use super::{DrainReport, LEASE_MS, Machine, START_MS, Shared, caller};
use crate::dice::Dice;

/// The number of candidates considered, as in the engine.
const MAX_CANDIDATES: usize = 256;
/// A store fetched within this time needs no fetch before a claim, as in the engine.
const FRESH_MS: u64 = 2_000;

/// How often a machine checks whether something is due.
const TICK_MS: u64 = 100;
/// How long an agent waits when there is nothing to claim.
const WAIT_MS: u64 = 2_000;

/// The maximum duration of a run.
const LONGEST_MS: u64 = 24 * 60 * 60 * 1000;

/// The conclusion from a round.
enum Next {
    /// The bead is claimed.
    Claimed,
    /// Try another bead.
    Another,
    /// Try the same bead again.
    Again,
    /// Fetch the remote's store first. True to try another bead afterwards.
    Fetch(bool),
}

/// One thread of one machine. It is also its connection to the remote and its clock.
pub struct Worker<'a, 'm> {
    pub machine: &'m Machine<'a>,
    pub thread: usize,
}

impl Worker<'_, '_> {
    /// Runs a thread from its first turn to its last.
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

    /// Returns the machine's state, with its wall clock set. Callers must not hold it while time passes.
    fn state(&self) -> MutexGuard<'_, MachineState> {
        let state = self.machine.state.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = (START_MS + self.now_ms()).saturating_sub(state.world.now_ms());
        state.world.jump(i64::try_from(passed).unwrap_or(0));
        state
    }

    pub fn stats(&self) -> MutexGuard<'_, (DrainReport, BTreeSet<Lineage>)> {
        self.shared().stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.stats().0.claim_ms.len() >= self.shared().drain.beads || self.now_ms() > LONGEST_MS
    }

    /// Claims and closes beads until all are done.
    pub fn claim_all(&self) {
        let caller = caller(&format!("agent-{}", self.machine.index));
        while !self.is_over() {
            let asked_ms = self.now_ms();
            let Some(lineage) = self.claim(&caller) else {
                self.sleep(WAIT_MS);
                continue;
            };
            self.record_claim(&lineage, asked_ms);
            self.sleep(self.shared().drain.work_ms);
            let now_ms = self.now_ms();
            let mut state = self.state();
            let id = state.replica.catalog().id_of(&lineage).to_string();
            state.apply(&Op::Close(Close { id, ..Close::default() }), &caller, now_ms);
        }
    }

    fn record_claim(&self, lineage: &Lineage, asked_ms: u64) {
        let now_ms = self.now_ms();
        let mut stats = self.stats();
        if !stats.1.insert(lineage.clone()) {
            stats.0.double += 1;
        }
        stats.0.claim_ms.push(now_ms - asked_ms);
        stats.0.ended_ms = now_ms;
    }

    /// Runs `claim --next` like the engine.
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
            let result = round.run(&self.machine.repository, self, self).expect("no faults are injected");
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
        let state = &mut *self.state();
        let begun = state.book.begin(&mut state.replica, lineage, &caller.actor, LEASE_MS);
        let attempt = begun.expect("no faults are injected");
        let fresh = state.fetched_ms.is_some_and(|ms| ms + FRESH_MS > now_ms);
        let (attempts, require_current) = (vec![attempt.clone()], !fresh && !exchanged);
        (attempt, state.book.round(&state.replica, CLAIM_REFS.into(), attempts, require_current))
    }

    fn conclude(&self, attempt: &Attempt, result: RoundResult, caller: &Caller) -> Next {
        let now_ms = self.now_ms();
        let state = &mut *self.state();
        let outcome = state.book.round_finished(result, &self.now()).pop().unwrap_or(Outcome::Gone);
        state.book.attempt_finished(&attempt.record.claim, Some(&outcome));
        if outcome.is_won() {
            state.budget.record_push(Duration::from_millis(now_ms));
        }
        if !matches!(outcome, Outcome::StoreBehind) {
            self.stats().0.tries += 1;
        }
        match outcome {
            Outcome::Won(..) => {
                let id = state.replica.catalog().id_of(&attempt.record.lineage).to_string();
                let at = (!attempt.existing).then_some(attempt.record.fence);
                let op = Op::Claim(ClaimBead { id, lease_ms: Some(LEASE_MS), at, ..ClaimBead::default() });
                if !state.apply(&op, caller, now_ms) {
                    return Next::Another;
                }
                state.book.claimed(&attempt.record.claim, state.replica.catalog());
                Next::Claimed
            }
            Outcome::Held(_) => Next::Another,
            Outcome::FenceTooLow(_) | Outcome::Gone => Next::Again,
            Outcome::WonButClosed => Next::Fetch(true),
            Outcome::StoreBehind => Next::Fetch(false),
            Outcome::WonUnchecked(_) | Outcome::Refused(_) => panic!("no faults are injected"),
        }
    }

    fn candidate(&self, caller: &Caller, tried: &BTreeSet<Lineage>) -> Option<Lineage> {
        let next = ClaimNext { spread: Some(self.machine.index.to_string()), ..ClaimNext::default() };
        let (state, now) = (self.state(), self.now());
        let (catalog, now_ms) = (state.replica.catalog(), state.replica.now_ms());
        let found = next.candidates(catalog, &caller.actor, now_ms, MAX_CANDIDATES);
        let is_free = |lineage: &Lineage| {
            !tried.contains(lineage)
                && !state.book.is_in_flight(lineage)
                && !state.book.is_held_elsewhere(lineage, &now)
        };
        found.expect("no faults are injected").into_iter().find(is_free)
    }

    /// Merges the remote's state. Waits instead if an exchange is in progress, which does the same.
    fn fetch(&self) {
        if self.state().exchanging {
            while self.state().exchanging {
                self.sleep(TICK_MS);
            }
            return;
        }
        let (checkpoint, look) = {
            let mut state = self.state();
            (state.begin(), state.book.listing_only(CLAIM_REFS.into()))
        };
        let fetched = checkpoint.fetch(&self.machine.repository, self);
        let looked = look.run(&self.machine.repository, self, self).expect("no faults are injected");
        let now_ms = self.now_ms();
        let state = &mut *self.state();
        let (saved, exchange) = fetched.expect("no faults are injected");
        exchange.expect("no faults are injected");
        state.replica.finish_checkpoint(saved, Vec::new()).expect("no faults are injected");
        state.book.upkeep_finished(&mut state.replica, looked, &self.now());
        (state.exchanging, state.fetched_ms) = (false, Some(now_ms));
    }

    /// Exchanges whenever it is due.
    pub fn save_all(&self) {
        while !self.is_over() {
            self.sleep(TICK_MS);
            let now_ms = self.now_ms();
            let is_due = {
                let state = self.state();
                !state.exchanging && state.due_ms(&self.shared().drain.policy, now_ms) <= now_ms
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
            let mut state = self.state();
            let upkeep = state.book.upkeep(&state.replica, CLAIM_REFS.into(), &self.now());
            (state.changed, state.has_unpushed) = (None, false);
            let dice = Dice::new(state.dice.roll());
            (state.begin(), upkeep, dice)
        };
        let pause = |round: u32| {
            let (first, step) = policy.pause_ms;
            let longest = first + step * (i64::from(round) - 1);
            self.sleep(dice.below(u64::try_from(longest).unwrap_or(0) + 1));
        };
        let synced = checkpoint.sync(&self.machine.repository, self, pause);
        let (saved, exchange) = synced.expect("no faults are injected");
        let upkept = exchange.is_ok().then(|| upkeep.run(&self.machine.repository, self, self));
        let now_ms = self.now_ms();
        let state = &mut *self.state();
        state.replica.finish_checkpoint(saved, Vec::new()).expect("no faults are injected");
        if let Some(upkept) = upkept {
            state.book.upkeep_finished(
                &mut state.replica,
                upkept.expect("no faults are injected"),
                &self.now(),
            );
        }
        state.exchanged(exchange, (begun_ms, now_ms));
    }
}
