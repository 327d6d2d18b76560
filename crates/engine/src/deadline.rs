//! A deadline shared by everything a command waits for before it reaches the store.

use std::time::{Duration, Instant};

/// A time limit that starts when it is created.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    start: Instant,
    patience: Duration,
}

impl Deadline {
    /// Returns a deadline `patience` from now.
    pub fn after(patience: Duration) -> Self {
        Self { start: Instant::now(), patience }
    }

    /// Returns the total time limit.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Returns the time left.
    pub fn left(&self) -> Duration {
        self.patience.saturating_sub(self.start.elapsed())
    }

    /// Returns whether no time is left.
    pub fn has_passed(&self) -> bool {
        self.left().is_zero()
    }

    /// Returns the deadline with its time limit capped at `patience`.
    pub fn at_most(self, patience: Duration) -> Self {
        Self { patience: self.patience.min(patience), ..self }
    }

    /// Sleeps, but not past the deadline.
    pub fn sleep(&self, pause: Duration) {
        std::thread::sleep(pause.min(self.left()));
    }
}
