//! A remote that is joined if it has a store, but never given its first one.

use std::cell::Cell;

use crate::Result;
use crate::remote::{Pushed, Remote};
use crate::repository::CommitId;

/// Forwards everything except a push that would create the sync ref on the remote.
#[derive(Debug)]
pub struct JoinOnly<R> {
    inner: R,
    may_publish: bool,
    withheld: Cell<bool>,
}

impl<R: Remote> JoinOnly<R> {
    /// Returns the wrapped remote. With `may_publish` every push is forwarded.
    pub fn new(inner: R, may_publish: bool) -> Self {
        Self { inner, may_publish, withheld: Cell::new(false) }
    }

    /// Returns the wrapped remote.
    pub fn inner(&self) -> &R {
        &self.inner
    }

    /// Returns whether a push was skipped.
    pub fn is_withheld(&self) -> bool {
        self.withheld.get()
    }

    fn withholds(&self, expected: Option<&str>) -> bool {
        let withholds = expected.is_none() && !self.may_publish;
        self.withheld.set(withholds);
        withholds
    }
}

impl<R: Remote> Remote for JoinOnly<R> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn fetch(&self) -> Result<Option<CommitId>> {
        self.inner.fetch()
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        if self.withholds(expected) {
            return Ok(Pushed::Done);
        }
        self.inner.push(expected, new)
    }

    fn push_while(&self, expected: Option<&str>, new: &str, work: &mut dyn FnMut()) -> Result<Pushed> {
        if self.withholds(expected) {
            work();
            return Ok(Pushed::Done);
        }
        self.inner.push_while(expected, new, work)
    }

    fn may_create_store(&self) -> bool {
        self.may_publish
    }

    fn fetch_archive(&self) -> Result<Option<CommitId>> {
        self.inner.fetch_archive()
    }

    /// Forwards the push: an archive is only pushed to a remote that has the store or may be given it.
    fn push_archive(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.inner.push_archive(expected, new)
    }
}
