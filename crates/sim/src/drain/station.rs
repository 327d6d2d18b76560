//! The state of one machine.

use std::time::Duration;

use beads_core::Op;
use beads_store::{Caller, Checkpoint, ClaimBook, Error, Exchange, Pace, PushBudget, Replica, Result};

use crate::dice::Dice;
use crate::disk::SimDisk;
use crate::fleet::{ACTIVE_MS, Policy, millis};
use crate::world::SimWorld;

/// What the claimer and the saver of one machine share, as threads of one daemon do.
pub struct Station {
    pub world: SimWorld,
    pub replica: Replica<SimDisk, SimWorld>,
    pub book: ClaimBook,
    pub dice: Dice,
    /// The first and the last change that was not saved.
    pub changed: Option<(u64, u64)>,
    pub last_exchange_ms: u64,
    pub fetched_ms: Option<u64>,
    pub breather_ms: u64,
    pub pace: Pace,
    pub budget: PushBudget,
    pub exchanging: bool,
    /// Something here is not on the remote.
    pub owed: bool,
}

impl Station {
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
            breather_ms: 0,
            pace: Pace::default(),
            budget: PushBudget::default(),
            exchanging: false,
            owed: false,
        }
    }

    pub fn apply(&mut self, op: &Op, caller: &Caller, now_ms: u64) -> bool {
        let applied = self.replica.apply(op, caller).is_ok();
        self.replica.commit().expect("nothing goes wrong here");
        self.changed = Some((self.changed.map_or(now_ms, |(first, _)| first), now_ms));
        self.owed = true;
        applied
    }

    pub fn begin(&mut self) -> Checkpoint {
        self.exchanging = true;
        self.replica.begin_checkpoint().expect("nothing goes wrong here")
    }

    /// As the daemon decides it.
    pub fn due_ms(&self, policy: &Policy, now_ms: u64) -> u64 {
        let changed =
            self.changed.map(|(first, last)| (last + policy.quiet_ms).min(first + policy.max_delay_ms));
        let due = changed.unwrap_or(u64::MAX).min(self.last_exchange_ms + policy.interval_ms);
        let room = self.budget.next(policy.push_rate, Duration::from_millis(now_ms)).filter(|_| self.owed);
        due.max(self.breather_ms).max(room.map_or(0, millis))
    }

    pub fn exchanged(&mut self, exchange: Result<Exchange>, (begun_ms, now_ms): (u64, u64)) {
        (self.exchanging, self.last_exchange_ms) = (false, now_ms);
        let rounds = match &exchange {
            Ok(exchange) => exchange.rounds,
            Err(Error::Contention(rounds)) => *rounds,
            Err(error) => panic!("nothing goes wrong here: {error}"),
        };
        self.pace.exchanged(rounds, now_ms - begun_ms);
        self.breather_ms = now_ms + self.pace.pause_ms(self.dice.roll());
        self.budget.machines =
            self.replica.catalog().active_replicas(self.replica.now_ms().saturating_sub(ACTIVE_MS)).max(1);
        match exchange {
            Ok(exchange) => {
                self.fetched_ms = Some(now_ms);
                if exchange.pushed {
                    self.budget.pushed(Duration::from_millis(now_ms));
                }
            }
            Err(_) => {
                self.changed.get_or_insert((now_ms, now_ms));
                self.owed = true;
            }
        }
    }
}
