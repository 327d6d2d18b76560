//! Guards a repository and a remote against writing to another store that took over their path.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use beads_core::{Encoder, Lineage, Snapshot, State};

use crate::identity::{Identity, StoreChange};
use crate::remote::{Pushed, Remote};
use crate::repository::{CommitId, Repository};
use crate::{Error, RefSync, Result};

/// A repository or remote that checks the store's identity before every write.
#[derive(Debug)]
pub struct Guarded<T> {
    inner: T,
    git_dir: PathBuf,
    identity: Arc<Identity>,
    read_only: bool,
}

impl<T> Guarded<T> {
    /// Returns a guard for the store whose git directory and identity these are.
    pub fn new(inner: T, git_dir: impl Into<PathBuf>, identity: Arc<Identity>) -> Self {
        Self { inner, git_dir: git_dir.into(), identity, read_only: false }
    }

    /// Returns a guard for a repository that is only read.
    pub fn read_only(inner: T, git_dir: impl Into<PathBuf>, identity: Arc<Identity>) -> Self {
        Self { read_only: true, ..Self::new(inner, git_dir, identity) }
    }

    /// Returns the guarded repository or remote.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// Fails if another store is at the path now.
    pub(crate) fn check(&self) -> Result<()> {
        match self.identity.check() {
            StoreChange::Unchanged | StoreChange::Touched => Ok(()),
            StoreChange::Moved | StoreChange::Replaced => Err(Error::Replaced { path: self.git_dir.clone() }),
        }
    }
}

impl<R: Repository> Repository for Guarded<R> {
    fn tip(&self) -> Result<Option<CommitId>> {
        self.inner.tip()
    }

    fn snapshot(&self, commit: &str) -> Result<Snapshot> {
        self.inner.snapshot(commit)
    }

    fn cached_state(&self, commit: &str) -> Option<State> {
        self.inner.cached_state(commit)
    }

    fn cache_state(&self, commit: &str, encoder: &Encoder) {
        if !self.read_only && self.check().is_ok() {
            self.inner.cache_state(commit, encoder);
        }
    }

    fn write(&self, snapshot: &Snapshot, parents: &[CommitId], message: &str) -> Result<CommitId> {
        self.check()?;
        self.inner.write(snapshot, parents, message)
    }

    fn holds(&self, commit: &str, snapshot: &Snapshot) -> Result<bool> {
        self.inner.holds(commit, snapshot)
    }

    fn vet(&self, theirs: &str, known: &str) -> Result<(), String> {
        self.inner.vet(theirs, known)
    }

    fn is_ancestor(&self, ancestor: &str, commit: &str) -> Result<bool> {
        self.inner.is_ancestor(ancestor, commit)
    }

    fn merge_base(&self, one: &str, other: &str) -> Result<Option<CommitId>> {
        self.inner.merge_base(one, other)
    }

    fn tracked(&self) -> Result<Vec<CommitId>> {
        self.inner.tracked()
    }

    fn sync_ref(&self) -> Result<()> {
        self.inner.sync_ref()
    }

    fn sync_ref_later(&self) -> RefSync {
        // Nothing builds on a store that is only read, so the ref need not be durable.
        if self.read_only { RefSync::done() } else { self.inner.sync_ref_later() }
    }

    fn saved(&self) -> Result<Vec<CommitId>> {
        self.inner.saved()
    }

    fn record_saved(&self, commit: &str) -> Result<()> {
        self.check()?;
        self.inner.record_saved(commit)
    }

    fn archive_tip(&self) -> Result<Option<CommitId>> {
        self.inner.archive_tip()
    }

    fn tracked_archive(&self, remote: &str) -> Result<Option<CommitId>> {
        self.inner.tracked_archive(remote)
    }

    fn unhealed(&self) -> Result<BTreeSet<Lineage>> {
        self.inner.unhealed()
    }

    fn record_unhealed(&self, beads: &BTreeSet<Lineage>) -> Result<()> {
        self.check()?;
        self.inner.record_unhealed(beads)
    }

    fn compare_and_swap_archive(&self, from: Option<&str>, to: &str) -> Result<bool> {
        self.check()?;
        let moved = self.inner.compare_and_swap_archive(from, to)?;
        self.check()?;
        Ok(moved)
    }

    fn compare_and_swap_ref(&self, from: Option<&str>, to: &str) -> Result<bool> {
        self.check()?;
        let moved = self.inner.compare_and_swap_ref(from, to)?;
        // A commit counts as saved only if it is in the store that was opened.
        self.check()?;
        Ok(moved)
    }
}

impl<R: Remote> Remote for Guarded<R> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn fetch(&self) -> Result<Option<CommitId>> {
        self.check()?;
        self.inner.fetch()
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.check()?;
        self.inner.push(expected, new)
    }

    fn push_while(&self, expected: Option<&str>, new: &str, work: &mut dyn FnMut()) -> Result<Pushed> {
        self.check()?;
        self.inner.push_while(expected, new, work)
    }

    fn fetch_archive(&self) -> Result<Option<CommitId>> {
        self.check()?;
        self.inner.fetch_archive()
    }

    fn push_archive(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.check()?;
        self.inner.push_archive(expected, new)
    }
}
