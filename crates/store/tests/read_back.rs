//! A repository that does not give back what was written to it: nothing leaves the journal for its sake.
#![allow(clippy::unwrap_used)] // failing is a test's job

mod bench_store;

use std::cell::Cell;

use beads_core::Snapshot;
use beads_store::{CommitId, Error, GitRepository, Pushed, Remote, Repository, Result};
use bench_store::{BenchStore, caller, create};

/// Passes everything on, and claims that no commit holds what it should.
struct Forgetful(GitRepository);

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
    fn holds(&self, _: &str, _: &Snapshot) -> Result<bool> {
        Ok(false)
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
    fn settle(&self) -> Result<()> {
        self.0.settle()
    }
    fn swing(&self, from: Option<&str>, to: &str) -> Result<bool> {
        self.0.swing(from, to)
    }
}

/// An empty remote that takes everything, and tells whether it was offered anything. Some have time for work meanwhile.
struct Willing {
    has_time: bool,
    offered: Cell<bool>,
}

impl Remote for Willing {
    fn fetch(&self) -> Result<Option<CommitId>> {
        Ok(None)
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
fn a_save_that_cannot_be_read_back_is_none() {
    let store = BenchStore::new();
    let mut replica = store.open();
    replica.apply(&create("kept"), &caller()).unwrap();
    let saved = replica.checkpoint(&Forgetful(store.repository()));
    assert!(matches!(saved, Err(Error::RefMoved(_))), "{saved:?}");
    assert_eq!(replica.unsaved().records, 1);
    drop(replica);
    assert_eq!(store.open().catalog().live_count(), 1);
}

#[test]
fn nor_is_a_sync_whoever_took_it() {
    for has_time in [true, false] {
        let store = BenchStore::new();
        let mut replica = store.open();
        replica.apply(&create("kept"), &caller()).unwrap();
        let (repository, remote) =
            (Forgetful(store.repository()), Willing { has_time, offered: Cell::new(false) });
        let synced = replica.begin_checkpoint().unwrap().sync(&repository, &remote, |_| ());
        assert!(matches!(synced, Err(Error::RefMoved(_))), "{synced:?}");
        assert!(remote.offered.get());
        replica.abandon_checkpoint();
        assert_eq!(replica.unsaved().records, 1);
    }
}
