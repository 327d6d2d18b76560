//! The other side of a synchronisation, behind a trait with two implementations and a simulated third.

use crate::Result;
use crate::repository::CommitId;

/// A repository elsewhere that holds the same sync ref.
pub trait Remote {
    /// The name it is known by here.
    fn name(&self) -> &str;

    /// Brings what the remote's sync ref points at here, and tells what that is.
    fn fetch(&self) -> Result<Option<CommitId>>;

    /// Moves the remote's sync ref from `expected` to `new`, but only if it still is where `expected` says.
    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed>;

    /// The same, and `work` is done while the remote is busy, where that is possible, else before. It may be left undone
    /// when nothing was pushed.
    fn push_while(&self, expected: Option<&str>, new: &str, work: &mut dyn FnMut()) -> Result<Pushed> {
        work();
        self.push(expected, new)
    }
}

/// How a push ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// The remote's ref was seen at the commit.
    Done,
    /// The ref is not at the commit. Either another replica was faster, which the next fetch shows, or the remote keeps
    /// the ref from moving; then this is the reason.
    Lost(String),
}
