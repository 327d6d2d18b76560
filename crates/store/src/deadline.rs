//! How long a sync may take as a whole, however many steps it has.

use std::time::{Duration, Instant};

use crate::Error;

/// Begins when it is made.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    started: Instant,
    whole: Duration,
}

impl Deadline {
    pub fn new(whole: Duration) -> Self {
        Self { started: Instant::now(), whole }
    }

    /// What is left of it for the next step.
    pub fn left(self) -> Duration {
        self.whole.saturating_sub(self.started.elapsed())
    }

    /// What is said of a remote for which there is no time left.
    pub fn passed(self, remote: &str) -> Error {
        Error::Timeout { remote: remote.to_owned(), seconds: self.whole.as_secs() }
    }
}
