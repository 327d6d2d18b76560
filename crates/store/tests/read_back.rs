//! A repository that does not return what was written to it: nothing may be trimmed from the journal.

use std::cell::Cell;

use beads_core::Snapshot;
use beads_store::{CommitId, Error, GitRepository, Pushed, RefSync, Remote, Repository, Result};

use crate::bench_store::{BenchStore, caller, create};

/// Forwards everything, but claims that commits with at least this many parents do not hold what was written.
struct Forgetful(GitRepository, usize);

impl Repository for Forgetful {
    fn tip(&self) -> Result<Option<CommitId>> {
        self.0.tip()
    }
    fn snapshot(&self, commit: &str) -> Result<Snapshot> {
        self.0.snapshot(commit)
    }
    fn write(&self, snapshot: &Snapshot, parents: &[CommitId], message: &str) -> Result<CommitId> {
        self.0.write(snapshot, parents, message)
    }
    fn holds(&self, commit: &str, snapshot: &Snapshot) -> Result<bool> {
        let git = git2::Repository::open(self.0.common_dir()).unwrap();
        let parents = git.find_commit(commit.parse().unwrap()).unwrap().parent_count();
        if parents >= self.1 { Ok(false) } else { self.0.holds(commit, snapshot) }
    }
    fn is_ancestor(&self, ancestor: &str, commit: &str) -> Result<bool> {
        self.0.is_ancestor(ancestor, commit)
    }
    fn merge_base(&self, one: &str, other: &str) -> Result<Option<CommitId>> {
        self.0.merge_base(one, other)
    }
    fn tracked(&self) -> Result<Vec<CommitId>> {
        self.0.tracked()
    }
    fn saved(&self) -> Result<Vec<CommitId>> {
        self.0.saved()
    }
    fn record_saved(&self, commit: &str) -> Result<()> {
        self.0.record_saved(commit)
    }
    fn sync_ref(&self) -> Result<()> {
        self.0.sync_ref()
    }
    fn sync_ref_later(&self) -> RefSync {
        self.0.sync_ref_later()
    }
    fn compare_and_swap_ref(&self, from: Option<&str>, to: &str) -> Result<bool> {
        self.0.compare_and_swap_ref(from, to)
    }
}

/// A remote that accepts every push and records whether there was one. With `has_time` it calls `work`
/// meanwhile.
struct Willing {
    tip: Option<CommitId>,
    has_time: bool,
    offered: Cell<bool>,
}

impl Remote for Willing {
    fn name(&self) -> &str {
        "willing"
    }

    fn fetch(&self) -> Result<Option<CommitId>> {
        Ok(self.tip.clone())
    }

    fn push(&self, _: Option<&str>, _: &str) -> Result<Pushed> {
        self.offered.set(true);
        Ok(Pushed::Done)
    }

    fn push_while(&self, expected: Option<&str>, new: &str, work: &mut dyn FnMut()) -> Result<Pushed> {
        if self.has_time {
            work();
        }
        self.push(expected, new)
    }
}

#[test]
fn a_save_that_cannot_be_read_back_does_not_count() {
    let store = BenchStore::new();
    let mut replica = store.open();
    replica.apply(&create("kept"), &caller()).unwrap();
    let saved = replica.checkpoint(&Forgetful(store.repository(), 0));
    assert!(matches!(saved, Err(Error::RefMoved(_))), "{saved:?}");
    assert_eq!(replica.unsaved().records, 1);
    drop(replica);
    assert_eq!(store.open().catalog().live_count(), 1);
}

#[test]
fn a_sync_that_cannot_be_read_back_does_not_count_even_if_the_remote_took_it() {
    for has_time in [true, false] {
        let store = BenchStore::new();
        let mut replica = store.open();
        replica.apply(&create("kept"), &caller()).unwrap();
        let (repository, remote) =
            (Forgetful(store.repository(), 0), Willing { tip: None, has_time, offered: Cell::new(false) });
        let synced = replica.begin_checkpoint().unwrap().sync(&repository, &remote, |_| ());
        assert!(matches!(synced, Err(Error::RefMoved(_))), "{synced:?}");
        assert!(remote.offered.get());
        replica.abandon_checkpoint();
        assert_eq!(replica.unsaved().records, 1);
    }
}

#[test]
fn a_sync_whose_merge_cannot_be_read_back_does_not_count() {
    for has_time in [true, false] {
        let (other, store) = (BenchStore::new(), BenchStore::new());
        // Otherwise the same bead would be created twice.
        other.world.jump(1);
        let mut theirs = other.open();
        theirs.apply(&create("theirs"), &caller()).unwrap();
        let tip = store.repository().write(&theirs.catalog().state().encode(), &[], "theirs").unwrap();
        let mut replica = store.open();
        replica.apply(&create("kept"), &caller()).unwrap();
        let repository = Forgetful(store.repository(), 2);
        let remote = Willing { tip: Some(tip), has_time, offered: Cell::new(false) };
        let synced = replica.begin_checkpoint().unwrap().sync(&repository, &remote, |_| ());
        assert!(matches!(synced, Err(Error::RefMoved(_))), "{synced:?}");
        assert!(remote.offered.get());
        replica.abandon_checkpoint();
        assert_eq!(replica.unsaved().records, 1);
    }
}
