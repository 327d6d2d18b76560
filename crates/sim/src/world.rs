//! A clock controlled by the simulation, and seeded dice.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beads_store::World;

use crate::dice::Dice;

/// A clock and dice. Clones share them.
#[derive(Debug, Clone)]
pub struct SimWorld(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    now_ms: u64,
    latest_ms: u64,
    dice: Dice,
}

impl SimWorld {
    /// Returns a clock that shows this time.
    pub fn new(seed: u64, now_ms: u64) -> Self {
        Self(Arc::new(Mutex::new(Inner { now_ms, latest_ms: now_ms, dice: Dice::new(seed) })))
    }

    /// Moves the clock, in either direction.
    pub fn jump(&self, by_ms: i64) {
        let mut inner = self.inner();
        inner.now_ms = inner.now_ms.saturating_add_signed(by_ms);
    }

    /// Returns the latest time that the clock showed since [`begin`](Self::begin).
    pub fn latest_ms(&self) -> u64 {
        self.inner().latest_ms
    }

    /// Forgets the times shown so far.
    pub fn begin(&self) {
        let mut inner = self.inner();
        inner.latest_ms = inner.now_ms;
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl World for SimWorld {
    fn now_ms(&self) -> u64 {
        let mut inner = self.inner();
        inner.latest_ms = inner.latest_ms.max(inner.now_ms);
        inner.now_ms
    }

    fn random(&mut self) -> u64 {
        self.inner().dice.roll()
    }
}
