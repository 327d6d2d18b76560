//! The time limit of a limit sync, however many steps it has.

use std::time::{Duration, Instant};

use crate::Error;

/// A time limit that starts when it is created.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    started: Instant,
    limit: Duration,
}

impl Deadline {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { started: Instant::now(), limit }
    }

    /// Returns the time that is left for the next step.
    pub(crate) fn remaining(self) -> Duration {
        self.limit.saturating_sub(self.started.elapsed())
    }

    /// Returns the error for a remote that exceeded the deadline.
    pub(crate) fn timeout_error(self, remote: &str) -> Error {
        Error::Timeout { remote: remote.to_owned(), seconds: self.limit.as_secs() }
    }
}
