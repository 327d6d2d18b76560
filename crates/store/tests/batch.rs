//! All-or-nothing batches: in memory, in the journal, and for repeated requests.

use std::collections::BTreeMap;

use beads_core::op::{
    Change, ClaimBead, Close, Create, Delete, DepAdd, DepRemove, Reopen, Restore, SetPrefix, Update,
};
use beads_core::{EdgeKind, Op};
use beads_store::{Batch, Error};

use crate::bench_store::{BenchStore, TestReplica, caller, create, note, requested};

fn named(id: &str) -> Op {
    let create = Create { id: Some(id.parse().unwrap()), ..Create::titled(id.parse().unwrap()) };
    Op::Create(Box::new(create))
}

fn dep(from: &str, to: &str) -> Op {
    Op::DepAdd(DepAdd { from: from.into(), to: to.into(), kind: EdgeKind::Blocks })
}

/// One operation of every kind that a batch can hold, each depending on those before it.
fn everything() -> Vec<Op> {
    let id = || "bd-a".to_owned();
    let update = Update {
        priority: Some("0".parse().unwrap()),
        parent: Some(Change::Set("bd-old".into())),
        ..Update::of("bd-a")
    };
    vec![
        named("bd-a"),
        named("bd-b"),
        dep("bd-a", "bd-b"),
        dep("bd-old", "bd-a"),
        Op::Update(Box::new(update)),
        Op::Claim(ClaimBead { id: id(), ..ClaimBead::default() }),
        note("bd-a", "a note"),
        note("bd-old", "a note on an existing bead"),
        Op::Close(Close { id: id(), ..Close::default() }),
        Op::Reopen(Reopen { id: id(), ..Reopen::default() }),
        Op::DepRemove(DepRemove { from: id(), to: "bd-b".into(), kind: EdgeKind::Blocks }),
        Op::Delete(Delete { id: "bd-old".into(), ..Delete::default() }),
        Op::Restore(Restore { id: "bd-old".into(), ..Restore::default() }),
        Op::SetPrefix(SetPrefix { prefix: "other".parse().unwrap() }),
        create("under the new prefix"),
    ]
}

fn store_with_one_bead() -> (BenchStore, TestReplica) {
    let store = BenchStore::new();
    let mut replica = store.open();
    replica.apply(&named("bd-old"), &caller()).unwrap();
    replica.commit().unwrap();
    (store, replica)
}

fn batch(ops: &[Op]) -> Batch<'_> {
    static NONE: BTreeMap<String, usize> = BTreeMap::new();
    Batch { ops, names: &NONE }
}

#[test]
fn a_failure_at_any_position_leaves_no_trace() {
    for length in 0..=everything().len() {
        let (store, mut replica) = store_with_one_bead();
        let (before, files, position) = (replica.catalog().clone(), store.listing(), replica.position());
        let mut ops = everything()[..length].to_vec();
        ops.push(note("bd-nowhere", "fails"));
        let error = replica.apply_all(batch(&ops), &requested("r", 60_000)).unwrap_err();
        assert!(matches!(&error, Error::Batch { index, .. } if *index == length), "{error}");
        assert_eq!(error.code(), beads_core::Code::NotFound);
        assert!(*replica.catalog() == before, "after {length} operations");
        assert_eq!(replica.catalog().state().names(), before.state().names());
        assert_eq!(replica.position(), position);
        replica.commit().unwrap();
        assert_eq!(store.listing(), files, "the journal has no trace of it");
        // The failed attempt is not remembered either, so the request may be repeated.
        replica.apply_all(batch(&ops[..length]), &requested("r", 60_000)).unwrap();
    }
}

/// A failed batch uses up no stamp: the next stamp is the same as if the batch had never been tried.
#[test]
fn the_clock_is_rolled_back() {
    let next_stamp = |fails: bool| {
        let (_store, mut replica) = store_with_one_bead();
        if fails {
            let mut ops = everything();
            ops.push(note("bd-nowhere", "fails"));
            replica.apply_all(batch(&ops), &caller()).unwrap_err();
        }
        let applied = replica.apply(&named("bd-next"), &caller()).unwrap();
        let at = applied.bead.unwrap().at();
        // The low bits are the tag of this opening.
        (at.ms(), at.counter() >> 16)
    };
    assert_eq!(next_stamp(true), next_stamp(false));
}

#[test]
fn a_batch_is_one_record_and_equals_its_operations_one_by_one() {
    let (store, mut replica) = store_with_one_bead();
    let position = replica.position();
    let applied = replica.apply_all(batch(&everything()), &caller()).unwrap();
    assert_eq!(applied.len(), everything().len());
    assert_eq!(replica.position(), position + 1);
    replica.commit().unwrap();
    let after = replica.catalog().state().encode();
    drop(replica);
    let replica = store.open();
    assert_eq!(replica.catalog().state().encode(), after, "the record holds all of it");
    assert_eq!(replica.unsaved().records, 2);

    let (_store, mut one_by_one) = store_with_one_bead();
    for op in everything() {
        one_by_one.apply(&op, &caller()).unwrap();
    }
    let titles = |replica: &TestReplica| -> Vec<_> {
        let live = replica.catalog().live();
        live.map(|(_, bead)| (bead.title.value.to_string(), bead.status.value.clone(), bead.notes.len()))
            .collect()
    };
    assert_eq!(titles(&replica), titles(&one_by_one));
}

#[test]
fn a_repeated_batch_runs_once_and_gets_the_same_answer() {
    let (store, mut replica) = store_with_one_bead();
    let beads = |applied: &[beads_core::Applied]| -> Vec<_> {
        applied
            .iter()
            .map(|applied| (applied.bead.clone(), applied.edge.clone(), applied.note.clone()))
            .collect()
    };
    let first = beads(&replica.apply_all(batch(&everything()), &requested("r", 60_000)).unwrap());
    replica.commit().unwrap();
    drop(replica);
    let mut replica = store.open();
    let position = replica.position();
    let again = replica.apply_all(batch(&everything()), &requested("r", 60_000)).unwrap();
    assert_eq!(beads(&again), first);
    assert_eq!(replica.position(), position);
}

#[test]
fn names_refer_to_beads_that_the_batch_creates() {
    let (_store, mut replica) = store_with_one_bead();
    let child = Create { parent: Some("epic".into()), ..Create::titled("child".parse().unwrap()) };
    let ops = [create("epic"), Op::Create(Box::new(child)), dep("child", "bd-old"), note("child", "n")];
    let names = BTreeMap::from([("epic".to_owned(), 0), ("child".to_owned(), 1)]);
    let applied = replica.apply_all(Batch { ops: &ops, names: &names }, &caller()).unwrap();
    let id = |index: usize| replica.catalog().id_of(applied[index].bead.as_ref().unwrap()).to_string();
    assert_eq!(id(1), format!("{}.1", id(0)));
    assert_eq!(id(2), id(1));
    // A name whose bead is created later has no meaning yet.
    let ops = [note("late", "n"), create("late")];
    let names = BTreeMap::from([("late".to_owned(), 1)]);
    let error = replica.apply_all(Batch { ops: &ops, names: &names }, &caller()).unwrap_err();
    assert_eq!(error.code(), beads_core::Code::NotFound);
}

#[test]
fn a_dry_run_shows_the_result_and_changes_nothing() {
    let (_store, mut replica) = store_with_one_bead();
    let before = replica.catalog().clone();
    let shown = replica
        .dry_run_all(batch(&everything()), &caller(), |catalog, applied| {
            (catalog.live_count(), applied.len())
        })
        .unwrap();
    assert_eq!(shown, (4, everything().len()));
    assert!(*replica.catalog() == before);
}
