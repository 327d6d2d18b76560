//! The other side of a synchronisation, behind a trait with two implementations and a simulated third.

use crate::Result;
use crate::repository::CommitId;

/// A repository elsewhere that holds the same sync ref.
pub trait Remote {
    /// Brings what the remote's sync ref points at here, and tells what that is.
    fn fetch(&self) -> Result<Option<CommitId>>;

    /// Moves the remote's sync ref from `expected` to `new`, but only if it still is where `expected` says.
    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed>;
}

/// How a push ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    Done,
    /// Somebody else was faster; fetch and try again.
    Lost,
}
