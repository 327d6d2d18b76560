//! The state of one machine.

use std::time::Duration;

use beads_core::Op;
use beads_store::{Caller, Checkpoint, ClaimBook, Error, Exchange, Pace, PushBudget, Replica, Result};

use crate::dice::Dice;
use crate::disk::SimDisk;
use crate::fleet::{ACTIVE_MS, Policy, millis};
use crate::world::SimWorld;

/// State shared by the claiming and the saving thread of one machine, as in a daemon.
pub struct MachineState {
    pub world: SimWorld,
    pub replica: Replica<SimDisk, SimWorld>,
    pub book: ClaimBook,
    pub dice: Dice,
    /// The times of the first and the last unsaved change.
    pub changed: Option<(u64, u64)>,
    pub last_exchange_ms: u64,
    pub fetched_ms: Option<u64>,
    /// The earliest time of the next exchange.
    pub earliest_exchange_ms: u64,
    pub pace: Pace,
    pub budget: PushBudget,
    pub exchanging: bool,
    /// Whether the remote lacks something.
    pub has_unpushed: bool,
}

impl MachineState {
    pub fn new(
        world: SimWorld,
        replica: Replica<SimDisk, SimWorld>,
        last_exchange_ms: u64,
        dice: Dice,
    ) -> Self {
        Self {
            world,
            replica,
            book: ClaimBook::default(),
            dice,
            changed: None,
            last_exchange_ms,
            fetched_ms: None,
            earliest_exchange_ms: 0,
            pace: Pace::default(),
            budget: PushBudget::default(),
            exchanging: false,
            has_unpushed: false,
        }
    }

    /// Applies and commits an operation. Returns whether it succeeded.
    pub fn apply(&mut self, op: &Op, caller: &Caller, now_ms: u64) -> bool {
        let applied = self.replica.apply(op, caller).is_ok();
        self.replica.commit().expect("no faults are injected");
        self.changed = Some((self.changed.map_or(now_ms, |(first, _)| first), now_ms));
        self.has_unpushed = true;
        applied
    }

    /// Begins a checkpoint.
    pub fn begin(&mut self) -> Checkpoint {
        self.exchanging = true;
        self.replica.begin_checkpoint().expect("no faults are injected")
    }

    /// Returns when the next exchange is due, by the rules of the daemon.
    pub fn due_ms(&self, policy: &Policy, now_ms: u64) -> u64 {
        let changed =
            self.changed.map(|(first, last)| (last + policy.quiet_ms).min(first + policy.max_delay_ms));
        let due = changed.unwrap_or(u64::MAX).min(self.last_exchange_ms + policy.interval_ms);
        let next_push =
            self.budget.next(policy.push_rate, Duration::from_millis(now_ms)).filter(|_| self.has_unpushed);
        due.max(self.earliest_exchange_ms).max(next_push.map_or(0, millis))
    }

    /// Processes the result of an exchange.
    pub fn exchanged(&mut self, exchange: Result<Exchange>, (begun_ms, now_ms): (u64, u64)) {
        (self.exchanging, self.last_exchange_ms) = (false, now_ms);
        let rounds = match &exchange {
            Ok(exchange) => exchange.rounds,
            Err(Error::Contention(rounds)) => *rounds,
            Err(error) => panic!("no faults are injected: {error}"),
        };
        self.pace.record_exchange(rounds, now_ms - begun_ms);
        self.earliest_exchange_ms = now_ms + self.pace.pause_ms(self.dice.roll());
        self.budget.machines =
            self.replica.catalog().active_replicas(self.replica.now_ms().saturating_sub(ACTIVE_MS)).max(1);
        match exchange {
            Ok(exchange) => {
                self.fetched_ms = Some(now_ms);
                if exchange.pushed {
                    self.budget.record_push(Duration::from_millis(now_ms));
                }
            }
            Err(_) => {
                self.changed.get_or_insert((now_ms, now_ms));
                self.has_unpushed = true;
            }
        }
    }
}
