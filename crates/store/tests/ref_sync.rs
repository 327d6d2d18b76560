//! A query syncs nothing; the first write syncs the ref that the store was opened at before anything else.

use std::io;
use std::sync::{Arc, Mutex};

use beads_core::Snapshot;
use beads_store::{CommitId, Disk, DiskFile, Error, GitRepository, RefSync, Replica, Repository, Result};

use crate::bench_store::{BenchStore, BenchWorld, caller, create};
use crate::memory_disk::{MemoryDisk, MemoryFile};

/// Everything that reaches the disk, in order.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    fn note(&self, what: &'static str) {
        self.0.lock().unwrap().push(what);
    }

    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[derive(Debug, Clone)]
struct LoggedDisk(MemoryDisk, Log);

#[derive(Debug)]
struct LoggedFile(MemoryFile, Log);

impl Disk for LoggedDisk {
    type File = LoggedFile;

    fn names(&self) -> io::Result<Vec<String>> {
        self.0.names()
    }
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.0.read(name)
    }
    fn create(&self, name: &str) -> io::Result<LoggedFile> {
        self.1.note("create");
        Ok(LoggedFile(self.0.create(name)?, self.1.clone()))
    }
    fn open(&self, name: &str) -> io::Result<LoggedFile> {
        Ok(LoggedFile(self.0.open(name)?, self.1.clone()))
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.1.note("remove");
        self.0.remove(name)
    }
    fn sync_directory(&self) -> io::Result<()> {
        self.1.note("sync directory");
        self.0.sync_directory()
    }
    fn describe(&self, name: &str) -> String {
        self.0.describe(name)
    }
}

impl DiskFile for LoggedFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.1.note("write");
        self.0.write_at(bytes, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.1.note("sync");
        self.0.sync()
    }
}

/// A repository that logs when its ref is synced, and fails to do so if asked.
struct LoggedRepository(GitRepository, Log, bool);

impl Repository for LoggedRepository {
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
        self.0.holds(commit, snapshot)
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
        self.1.note("sync ref");
        self.0.sync_ref()
    }
    fn sync_ref_later(&self) -> RefSync {
        let (log, fails) = (self.1.clone(), self.2);
        RefSync::pending(move || {
            log.note("sync ref");
            if fails { Err(Error::JournalFailed("no disk".into())) } else { Ok(()) }
        })
    }
    fn compare_and_swap_ref(&self, from: Option<&str>, to: &str) -> Result<bool> {
        self.0.compare_and_swap_ref(from, to)
    }
}

/// Returns a store with a saved bead and one that is only in the journal, opened again.
fn reopened(fails: bool) -> (BenchStore, Replica<LoggedDisk, BenchWorld>, Log) {
    let (store, log) = (BenchStore::new(), Log::default());
    let (repository, disk) = (store.repository(), LoggedDisk(MemoryDisk::default(), log.clone()));
    let mut replica = Replica::open(disk.clone(), &repository, store.world.clone()).unwrap();
    replica.apply(&create("saved"), &caller()).unwrap();
    replica.checkpoint(&repository).unwrap();
    replica.apply(&create("only in the journal"), &caller()).unwrap();
    replica.commit().unwrap();
    drop(replica);
    log.take();
    let repository = LoggedRepository(repository, log.clone(), fails);
    let replica = Replica::open(disk, &repository, store.world.clone()).unwrap();
    (store, replica, log)
}

#[test]
fn a_query_syncs_nothing() {
    let (_store, mut replica, log) = reopened(false);
    assert_eq!(replica.catalog().live_count(), 2);
    assert!(replica.last_operation(&caller().actor, true).is_some());
    // The service commits after every request, also after a query.
    replica.commit().unwrap();
    assert_eq!(log.take(), [""; 0]);
}

#[test]
fn the_first_write_syncs_the_ref_before_anything_else_and_the_second_does_not() {
    let (_store, mut replica, log) = reopened(false);
    replica.apply(&create("first"), &caller()).unwrap();
    replica.commit().unwrap();
    let first = log.take();
    assert_eq!(first[0], "sync ref", "{first:?}");
    replica.apply(&create("second"), &caller()).unwrap();
    replica.commit().unwrap();
    let second = log.take();
    assert!(second.contains(&"sync") && !second.contains(&"sync ref"), "{second:?}");
}

#[test]
fn a_save_of_the_journal_alone_syncs_the_ref_first() {
    let (_store, mut replica, log) = reopened(false);
    drop(replica.begin_checkpoint().unwrap());
    let saved = log.take();
    assert_eq!(saved[0], "sync ref", "{saved:?}");
}

#[test]
fn without_a_durable_ref_nothing_is_written() {
    let (_store, mut replica, log) = reopened(true);
    replica.apply(&create("lost"), &caller()).unwrap();
    for _ in 0..2 {
        replica.commit().unwrap_err();
        assert_eq!(log.take(), ["sync ref"]);
    }
}
