//! The remote of a sync, behind a trait. There are two implementations, and the simulator has a third.

use crate::Result;
use crate::repository::CommitId;

/// Another repository with the same sync ref.
pub trait Remote {
    /// Returns the name of the remote in the git configuration.
    fn name(&self) -> &str;

    /// Fetches the commit of the remote's sync ref with its history, and returns its name.
    fn fetch(&self) -> Result<Option<CommitId>>;

    /// Moves the remote's sync ref from `expected` to `new`, if it still points at `expected`.
    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed>;

    /// Returns whether a push may create the sync ref.
    fn may_create_store(&self) -> bool {
        true
    }

    /// Fetches the commit of the remote's archive with its history, and returns its name.
    fn fetch_archive(&self) -> Result<Option<CommitId>> {
        Ok(None)
    }

    /// Moves the ref of the remote's archive from `expected` to `new`, if it still points at `expected`.
    fn push_archive(&self, _expected: Option<&str>, _new: &str) -> Result<Pushed> {
        let reason = "archives are not supported there".to_owned();
        Err(crate::Error::Remote { remote: self.name().to_owned(), reason })
    }

    /// Like [`push`](Self::push), but calls `work` while the remote is busy if possible, else before.
    ///
    /// `work` may be skipped if nothing was pushed.
    fn push_while(&self, expected: Option<&str>, new: &str, work: &mut dyn FnMut()) -> Result<Pushed> {
        work();
        self.push(expected, new)
    }
}

/// The result of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// The remote's ref was seen at the commit.
    Done,
    /// The ref is not at the commit, for the given reason. Either another replica pushed first, which the
    /// next fetch shows, or the remote does not let the ref move.
    Lost(String),
}
