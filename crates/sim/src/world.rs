//! A clock under the simulation's control, and seeded dice.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beads_store::World;

use crate::dice::Dice;

/// Clones share the time and the dice.
#[derive(Debug, Clone)]
pub struct SimWorld(Arc<Mutex<Instruments>>);

#[derive(Debug)]
struct Instruments {
    now_ms: u64,
    latest_ms: u64,
    dice: Dice,
}

impl SimWorld {
    pub fn new(seed: u64, now_ms: u64) -> Self {
        Self(Arc::new(Mutex::new(Instruments { now_ms, latest_ms: now_ms, dice: Dice::new(seed) })))
    }

    /// Moves the clock, in either direction.
    pub fn jump(&self, by_ms: i64) {
        let mut instruments = self.instruments();
        instruments.now_ms = instruments.now_ms.saturating_add_signed(by_ms);
    }

    /// The latest time that the clock showed since [`begin`](Self::begin).
    pub fn latest_ms(&self) -> u64 {
        self.instruments().latest_ms
    }

    /// Forgets what the clock showed before.
    pub fn begin(&self) {
        let mut instruments = self.instruments();
        instruments.latest_ms = instruments.now_ms;
    }

    fn instruments(&self) -> MutexGuard<'_, Instruments> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl World for SimWorld {
    fn now_ms(&self) -> u64 {
        let mut instruments = self.instruments();
        instruments.latest_ms = instruments.latest_ms.max(instruments.now_ms);
        instruments.now_ms
    }

    fn random(&mut self) -> u64 {
        self.instruments().dice.roll()
    }
}
