//! Which births are those of another replica. The floor of garbage collection depends on it.

use beads_core::{Delta, Op};
use beads_store::World;
use serde_json::{Value, json};

use crate::bench_store::{BenchStore, TestReplica, caller, create};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn newest_foreign_ms(replica: &mut TestReplica) -> Option<u64> {
    replica.newest_foreign_ms().unwrap()
}

/// Creates a bead in a new opening and saves it. Returns when.
fn create_in(store: &BenchStore, title: &str) -> u64 {
    let mut replica = store.open();
    replica.apply(&create(title), &caller()).unwrap();
    replica.checkpoint(&store.repository()).unwrap();
    store.world.now_ms()
}

/// Imports a bead in a new opening and saves it. Returns its birth.
fn import_in(store: &BenchStore) -> u64 {
    let created = BenchStore::new().open().apply(&create("imported"), &caller()).unwrap();
    let birth = json!(created.bead.unwrap().at()).to_string();
    let born_ms = store.world.now_ms() - 30 * DAY_MS;
    let delta = json!(created.delta).to_string().replace(&birth, &json!([born_ms, 0]).to_string());
    let delta: Delta = serde_json::from_str(&delta).unwrap();
    let mut replica = store.open();
    replica.absorb(delta, &[], &caller(), &Value::Null).unwrap();
    replica.checkpoint(&store.repository()).unwrap();
    born_ms
}

#[test]
fn births_of_other_replicas_are_distinguished_from_our_own() {
    let store = BenchStore::new();
    create_in(&store, "ours");
    create_in(&store, "ours again");
    assert_eq!(newest_foreign_ms(&mut store.open()), None, "each opening has its own tag");
    let foreign = create_in(&store.second_journal(), "theirs");
    let mut ours = store.open();
    assert_eq!(newest_foreign_ms(&mut ours), Some(foreign));
    store.world.jump(5 * 365 * DAY_MS as i64);
    ours.apply(&create("ours, with a clock years ahead"), &caller()).unwrap();
    ours.checkpoint(&store.repository()).unwrap();
    drop(ours);
    assert_eq!(newest_foreign_ms(&mut store.open()), Some(foreign), "ours do not count");
}

/// Regression: a fresh clone took itself for the only writer, and its clock became the floor.
#[test]
fn in_a_fresh_clone_every_birth_is_foreign() {
    let store = BenchStore::new();
    let foreign = create_in(&store, "made before the clone");
    store.world.jump(5 * 365 * DAY_MS as i64);
    let clone = store.second_journal();
    assert_eq!(newest_foreign_ms(&mut clone.open()), Some(foreign), "before the first write");
    create_in(&clone, "ours");
    assert_eq!(newest_foreign_ms(&mut clone.open()), Some(foreign), "and after it");
}

#[test]
fn births_that_may_be_ours_count_only_until_one_is_certainly_foreign() {
    let store = BenchStore::new();
    let unknown = create_in(&store, "made by an earlier version, which kept no list");
    std::fs::remove_file(store.journal_dir().join("tags")).unwrap();
    store.world.jump(DAY_MS as i64);
    create_in(&store, "ours");
    assert_eq!(newest_foreign_ms(&mut store.open()), Some(unknown));
    store.world.jump(-2 * DAY_MS as i64);
    let foreign = create_in(&store.second_journal(), "theirs, a day earlier");
    assert_eq!(newest_foreign_ms(&mut store.open()), Some(foreign));
}

#[test]
fn a_damaged_list_is_started_over_and_claims_nothing() {
    let store = BenchStore::new();
    let unknown = create_in(&store, "ours");
    std::fs::write(store.journal_dir().join("tags"), b"damage").unwrap();
    assert_eq!(newest_foreign_ms(&mut store.open()), Some(unknown));
}

#[test]
fn an_incomplete_entry_at_the_end_of_the_list_is_overwritten() {
    let store = BenchStore::new();
    create_in(&store, "ours");
    let path = store.journal_dir().join("tags");
    let mut bytes = std::fs::read(&path).unwrap();
    let half = bytes[..bytes.len() / 2].to_vec();
    bytes.extend(half);
    std::fs::write(&path, bytes).unwrap();
    create_in(&store, "ours again");
    create_in(&store, "and again");
    assert_eq!(newest_foreign_ms(&mut store.open()), None);
}

#[test]
fn an_unreadable_list_is_an_error_and_not_an_empty_one() {
    let store = BenchStore::new();
    create_in(&store, "ours");
    let path = store.journal_dir().join("tags");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let error = store.open().newest_foreign_ms().unwrap_err().to_string();
    assert!(error.contains("tags"), "{error}");
    let mut replica = store.open();
    replica.apply(&create("not acknowledged"), &caller()).unwrap();
    replica.commit().unwrap_err();
}

#[test]
fn imported_births_are_foreign_where_nothing_was_imported() {
    let store = BenchStore::new();
    let born = import_in(&store);
    assert_eq!(newest_foreign_ms(&mut store.open()), None, "imported here");
    let clone = store.second_journal();
    assert_eq!(newest_foreign_ms(&mut clone.open()), Some(born), "imported elsewhere");
    create_in(&clone, "ours");
    assert_eq!(newest_foreign_ms(&mut clone.open()), Some(born));
}

#[test]
fn changes_of_existing_beads_do_not_lengthen_the_list() {
    let store = BenchStore::new();
    create_in(&store, "ours");
    let size = || std::fs::metadata(store.journal_dir().join("tags")).unwrap().len();
    let before = size();
    let mut replica = store.open();
    let id = replica.catalog().id_of(replica.catalog().live().next().unwrap().0).to_string();
    replica.apply(&Op::Close(beads_core::op::Close { id, ..Default::default() }), &caller()).unwrap();
    replica.commit().unwrap();
    assert_eq!(size(), before);
    replica.apply(&create("a birth"), &caller()).unwrap();
    replica.commit().unwrap();
    assert!(size() > before);
}
