//! One deadline for everything a command waits for on its way to the store.

use std::time::{Duration, Instant};

/// A moment after which nothing is waited for any more.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    start: Instant,
    patience: Duration,
}

impl Deadline {
    pub fn after(patience: Duration) -> Self {
        Self { start: Instant::now(), patience }
    }

    /// How long the whole wait was meant to be.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    pub fn left(&self) -> Duration {
        self.patience.saturating_sub(self.start.elapsed())
    }

    pub fn has_passed(&self) -> bool {
        self.left().is_zero()
    }

    /// The same wait, but no longer than this from its start.
    pub fn at_most(self, patience: Duration) -> Self {
        Self { patience: self.patience.min(patience), ..self }
    }

    /// Sleeps, but not past the deadline.
    pub fn sleep(&self, pause: Duration) {
        std::thread::sleep(pause.min(self.left()));
    }
}
