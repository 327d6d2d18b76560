//! Conflicts and the floor of garbage collection.

use beads_core::op::{
    Close, CollectGarbage, ConflictDismiss, ConflictRestore, Create, Delete, DepAdd, DepRemove, Op, Update,
};
use beads_core::{
    Catalog, Clock, Conflict, Context, Delta, Edge, EdgeKey, EdgeKind, Error, Field, Floor, Lineage, Stamp,
    State, Status, concurrent_writes,
};
use serde_json::json;

use crate::support::{actor, assert_same, decode, id, join, mark, value};

/// A replica in memory.
#[derive(Clone)]
struct Side {
    catalog: Catalog,
    clock: Clock,
    name: &'static str,
}

impl Side {
    fn new(name: &'static str, tag: u16) -> Self {
        Self { catalog: Catalog::default(), clock: Clock::new(Stamp::ZERO, tag), name }
    }

    fn run(&mut self, now_ms: u64, op: &Op) -> Delta {
        let mut context = Context {
            actor: actor(self.name),
            now_ms,
            clock: &mut self.clock,
            random: &mut || 0,
            branch: Default::default(),
            lease_ms: 1_000,
        };
        let delta = op.apply(&self.catalog, &mut context).unwrap().delta;
        self.catalog.join_delta(&delta).unwrap();
        delta
    }

    fn create(&mut self, now_ms: u64, id: &str) {
        let create = Create { id: Some(id.parse().unwrap()), ..Create::titled("first".parse().unwrap()) };
        self.run(now_ms, &Op::Create(Box::new(create)));
    }

    fn retitle(&mut self, now_ms: u64, title: &str) {
        let update = Update { title: Some(title.parse().unwrap()), ..Update::of("bd-a") };
        self.run(now_ms, &Op::Update(Box::new(update)));
    }

    fn state(&self) -> &State {
        self.catalog.state()
    }
}

/// Returns two replicas with the same bead, and their common state.
fn agreed() -> (Side, Side, State) {
    let mut ann = Side::new("ann", 1);
    ann.create(1_000, "bd-a");
    let mut ben = Side::new("ben", 2);
    ben.catalog.join(ann.state());
    let base = ann.state().clone();
    (ann, ben, base)
}

fn merged(ours: &State, theirs: &State, base: Option<&State>) -> State {
    let mut state = ours.clone();
    state.join(theirs);
    for conflict in concurrent_writes(ours, theirs, base) {
        state.join_conflict(&conflict);
    }
    state
}

#[test]
fn only_different_writes_on_both_sides_are_a_conflict() {
    let (mut ann, mut ben, base) = agreed();
    assert_eq!(concurrent_writes(ann.state(), ben.state(), Some(&base)), []);
    ann.retitle(2_000, "from ann");
    assert_eq!(concurrent_writes(ann.state(), ben.state(), Some(&base)), [], "one side only");
    ben.retitle(3_000, "from ben");
    let found = concurrent_writes(ann.state(), ben.state(), Some(&base));
    let [conflict] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((conflict.field, &conflict.value), (Field::Title, &json!("from ann")));
    assert_eq!((conflict.lost.by().as_str(), conflict.won.by().as_str()), ("ann", "ben"));
    let other_way = concurrent_writes(ben.state(), ann.state(), Some(&base));
    assert_eq!(other_way, found, "it does not matter who merges");
    let seen_by_both = Some(ben.state());
    assert_eq!(
        concurrent_writes(ann.state(), ben.state(), seen_by_both),
        [],
        "their write is in the merge base"
    );
}

#[test]
fn a_losing_status_is_kept_with_its_reason() {
    let (mut ann, mut ben, base) = agreed();
    let to =
        |status: Status| Op::Update(Box::new(Update { status: Some(status.into()), ..Update::of("bd-a") }));
    ann.run(2_000, &to(Status::InProgress));
    ben.run(3_000, &to(Status::Closed));
    let value = |ours: &Side, theirs: &Side| {
        let found = concurrent_writes(ours.state(), theirs.state(), Some(&base));
        found.into_iter().find(|conflict| conflict.field == Field::Status).unwrap().value
    };
    assert_eq!(value(&ann, &ben), json!("in_progress"));
    ann.run(4_000, &to(Status::Open));
    let close = Close { id: "bd-a".into(), reason: "done".parse().unwrap(), force: true, ..Close::default() };
    ben.run(3_500, &Op::Close(close));
    assert_eq!(value(&ann, &ben), json!({"status": "closed", "closed_reason": "done"}));
}

#[test]
fn equal_values_are_no_conflict() {
    let (mut ann, mut ben, base) = agreed();
    ann.retitle(2_000, "same");
    ben.retitle(3_000, "same");
    assert_eq!(concurrent_writes(ann.state(), ben.state(), Some(&base)), []);
}

#[test]
fn conflicts_survive_encoding_and_join_in_any_order() {
    let (mut ann, mut ben, base) = agreed();
    ann.retitle(2_000, "from ann");
    ben.retitle(3_000, "from ben");
    let both = merged(ann.state(), ben.state(), Some(&base)).encode();
    assert!(String::from_utf8_lossy(&both.conflicts).contains("CONFLICT-"));
    assert_same("decode, encode", &decode(&both).encode(), &both);
    let (a, b) = (ann.state().encode(), ben.state().encode());
    assert_same("absorbs", &join(&both, &a), &both);
    assert_same("commutes", &join(&both, &b), &join(&b, &both));
    assert_same("idempotent", &join(&both, &both), &both);
}

#[test]
fn an_inconsistent_conflict_line_is_rejected() {
    let (mut ann, mut ben, base) = agreed();
    ann.retitle(2_000, "from ann");
    ben.retitle(3_000, "from ben");
    let good = merged(ann.state(), ben.state(), Some(&base)).encode();
    let line = String::from_utf8(good.conflicts.clone()).unwrap();
    let bad_lines = [
        line.replace("CONFLICT-", "CONFLICT-0"),
        line.replace("\"from ann\"", "17"),
        line.replace("\"bd-a\"", "\"bd-none\""),
        line.replace("\"by\":\"ann\"", "\"by\":\"eve\""),
        line.replace("\"field\":\"title\"", "\"field\":\"nonsense\""),
        format!("{line}{line}"),
    ];
    for bad in bad_lines {
        let files = crate::support::files::sealed(beads_core::Snapshot {
            conflicts: bad.clone().into_bytes(),
            ..good.clone()
        });
        let error = files.decode().unwrap_err().to_string();
        assert!(error.contains("conflicts.jsonl line"), "{error}\n{bad}");
    }
}

#[test]
fn restoring_writes_the_losing_value_again_and_dismisses_the_conflict() {
    let (mut ann, mut ben, base) = agreed();
    ann.retitle(2_000, "from ann");
    ben.retitle(3_000, "from ben");
    ben.catalog = merged(ann.state(), ben.state(), Some(&base)).into();
    let id = ben.state().conflicts().keys().next().unwrap().clone();
    ben.run(4_000, &Op::ConflictRestore(ConflictRestore { id: id.clone() }));
    let lineage = ben.catalog.resolve("bd-a").unwrap();
    assert_eq!(ben.catalog.bead(lineage).unwrap().title.value.as_str(), "from ann");
    assert!(ben.state().conflicts()[&id].dismissed.is_some());
}

#[test]
fn dismissing_a_conflict_changes_no_bead() {
    let (mut ann, mut ben, base) = agreed();
    ann.retitle(2_000, "from ann");
    ben.retitle(3_000, "from ben");
    ben.catalog = merged(ann.state(), ben.state(), Some(&base)).into();
    let id = ben.state().conflicts().keys().next().unwrap().clone();
    let dismiss = Op::ConflictDismiss(ConflictDismiss { id: id.clone() });
    let before = ben.state().clone();
    let delta = ben.run(4_000, &dismiss);
    assert!(delta.beads.is_empty());
    assert!(!before.is_same_copy(ben.state()) && before.is_same_copy(&before.clone()));
    let kept = &ben.state().conflicts()[&id];
    assert_eq!(kept.dismissed.as_ref().unwrap().by(), &actor("ben"));
    assert_eq!(kept.value, json!("from ann"));
    assert!(ben.run(5_000, &dismiss).is_empty(), "a second dismissal changes nothing");
    let mut context = Context {
        actor: actor("ann"),
        now_ms: 6_000,
        clock: &mut ann.clock,
        random: &mut || 0,
        branch: Default::default(),
        lease_ms: 0,
    };
    assert!(
        matches!(dismiss.apply(&ann.catalog, &mut context), Err(Error::NotFound(_))),
        "the conflict is unknown there"
    );
}

#[test]
fn every_field_can_be_restored_from_its_plain_value() {
    let (mut ann, _, _) = agreed();
    let close = Close { id: "bd-a".into(), reason: "done".parse().unwrap(), ..Default::default() };
    ann.run(2_000, &Op::Close(close));
    let bead = ann.catalog.bead(ann.catalog.resolve("bd-a").unwrap()).unwrap().clone();
    for field in Field::ALL.iter().copied().filter(|field| *field != Field::AssigneeExpires) {
        let value = bead.value_json(field);
        let patch = beads_core::Patch::from_json(field, &value, &mark(9_000, 0, "ann")).unwrap();
        assert_ne!(patch, beads_core::Patch::default(), "{field:?}");
    }
    assert_eq!(bead.value_json(Field::Status), json!({"closed_reason": "done", "status": "closed"}));
    assert_eq!(bead.status.value.status, Status::Closed);
}

const DAY: u64 = 24 * 60 * 60 * 1000;

#[test]
fn deletions_below_the_floor_are_dropped_everywhere() {
    let mut ann = Side::new("ann", 1);
    ann.create(DAY, "bd-a");
    ann.create(DAY, "bd-b");
    let before = ann.clone();
    ann.run(2 * DAY, &Op::Delete(Delete { id: "bd-a".into(), ..Delete::default() }));
    let history = ann.clone();
    let week = CollectGarbage { ttl_ms: 7 * DAY, newest_foreign_ms: None };
    assert!(ann.run(3 * DAY, &Op::CollectGarbage(week.clone())).is_empty(), "too young");
    let raised = ann.run(20 * DAY, &Op::CollectGarbage(week));
    assert!(raised.gc_floor.is_some());
    assert_eq!(ann.state().beads().len(), 1);
    let files = ann.state().encode();
    assert_same("decode, encode", &decode(&files).encode(), &files);
    // A replica without the setting drops the same beads.
    assert_same("theirs", &join(&history.state().encode(), &files), &files);
    assert_same("ours", &join(&files, &history.state().encode()), &files);
    // A journal that still refers to the dropped bead can be replayed.
    let mut replayed = ann.state().clone();
    let lineage = before.catalog.resolve("bd-a").unwrap().clone();
    let late = history.state().bead(&lineage).unwrap().deletion.clone();
    let patch = beads_core::Patch { deletion: late, ..Default::default() };
    replayed.join_delta(&Delta::of_bead(lineage.clone(), patch)).unwrap();
    // So can a journal with edges of which only one end is left.
    let left = before.catalog.resolve("bd-b").unwrap();
    for (from, to) in [(&lineage, left), (left, &lineage)] {
        let edge = EdgeKey::new(from, to, EdgeKind::Blocks);
        replayed.join_delta(&Delta::of_edge(edge, Edge::added(mark(DAY + 1, 0, "ann")))).unwrap();
    }
    assert_same("replayed", &replayed.encode(), &files);
}

#[test]
fn garbage_collection_rejects_less_than_a_week_and_keeps_contested_ids() {
    let (mut ann, mut ben) = (Side::new("ann", 1), Side::new("ben", 2));
    ann.create(DAY, "bd-a");
    ben.create(DAY + 5, "bd-a");
    ann.catalog.join(ben.state());
    ann.run(2 * DAY, &Op::Delete(Delete { id: "bd-a".into(), ..Delete::default() }));
    let before = ann.state().beads().len();
    ann.run(60 * DAY, &Op::CollectGarbage(CollectGarbage { ttl_ms: 7 * DAY, newest_foreign_ms: None }));
    assert_eq!(ann.state().beads().len(), before, "the ids of other beads depend on it");
    let again =
        ann.run(61 * DAY, &Op::CollectGarbage(CollectGarbage { ttl_ms: 7 * DAY, newest_foreign_ms: None }));
    assert!(again.is_empty(), "a bead that stays below the floor raises it only once");
    decode(&ann.state().encode());
    let mut context = Context {
        actor: actor("ann"),
        now_ms: 70 * DAY,
        clock: &mut ann.clock,
        random: &mut || 0,
        branch: Default::default(),
        lease_ms: 0,
    };
    let short = Op::CollectGarbage(CollectGarbage { ttl_ms: 7 * DAY - 1, newest_foreign_ms: None });
    assert!(short.apply(&ann.catalog, &mut context).is_err());
}

#[test]
fn the_floor_rises_only_if_it_drops_something() {
    // Tag 0, so that a deletion can be exactly at the floor.
    let mut ann = Side::new("ann", 0);
    let collect = Op::CollectGarbage(CollectGarbage { ttl_ms: 7 * DAY, newest_foreign_ms: None });
    ann.create(DAY, "bd-a");
    ann.create(DAY, "bd-b");
    let ends = || ("bd-a".to_owned(), "bd-b".to_owned(), EdgeKind::Blocks);
    let (from, to, kind) = ends();
    ann.run(2 * DAY, &Op::DepAdd(DepAdd { from, to, kind }));
    assert!(ann.run(30 * DAY, &collect).is_empty(), "nothing is deleted");
    let (from, to, kind) = ends();
    ann.run(31 * DAY, &Op::DepRemove(DepRemove { from, to, kind }));
    assert!(ann.run(38 * DAY, &collect).is_empty(), "at the floor, not below it");
    assert!(!ann.run(38 * DAY + 1, &collect).is_empty(), "a removed edge is enough");
    assert_eq!(ann.state().edges().len(), 0);
    ann.run(40 * DAY, &Op::Delete(Delete { id: "bd-a".into(), ..Delete::default() }));
    assert!(ann.run(47 * DAY, &collect).is_empty(), "at the floor, not below it");
    assert_eq!(ann.run(47 * DAY + 1, &collect).gc_floor.unwrap().stamp.ms(), 40 * DAY + 1);
    assert_eq!(ann.state().beads().len(), 1);
}

#[test]
fn a_conflict_has_the_same_id_whoever_wins() {
    let (ann, _, _) = agreed();
    let bead = ann.catalog.resolve("bd-a").unwrap().clone();
    let (lost, won) = (mark(5, 0, "ann"), mark(6, 0, "ben"));
    let conflict = Conflict { bead, field: Field::Title, value: json!("x"), lost, won, dismissed: None };
    let later = Conflict { won: mark(9, 0, "cyd"), ..conflict.clone() };
    assert_eq!(conflict.id(), later.id(), "the id does not depend on the winner");
    let mut state = ann.state().clone();
    state.join_conflict(&later);
    state.join_conflict(&conflict);
    assert_eq!(state.conflicts()[&conflict.id()].won, later.won, "the latest winner is kept");
}

/// Checks the example in `docs/FORMAT.md`.
#[test]
fn the_documented_conflict_has_the_documented_id() {
    let doc = include_str!("../../../docs/FORMAT.md");
    let line = doc.split("```json a conflict\n").nth(1).unwrap().lines().next().unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let born = Lineage::new(
        "bd-a1".parse().unwrap(),
        Stamp::decode(1_702_234_567_900, 0).unwrap(),
        actor("ann@mac"),
    );
    let lost = mark(line["at"][0].as_u64().unwrap(), 4660, line["by"].as_str().unwrap());
    assert_eq!(line["id"], beads_core::ConflictId::new(&born, Field::Title, &lost).as_str());
}

#[test]
fn a_conflict_goes_with_the_bead_that_the_merge_drops() {
    let (mut ann, mut ben, base) = agreed();
    ann.retitle(2_000, "ann's");
    ann.catalog
        .join_delta(&Delta {
            gc_floor: Some(Floor { epoch: 0, stamp: mark(9_000, 0, "ann").at() }),
            ..Delta::default()
        })
        .unwrap();
    ben.retitle(3_000, "ben's");
    ben.run(4_000, &Op::Delete(Delete { id: "bd-a".into(), ..Delete::default() }));
    assert_eq!(concurrent_writes(ann.state(), ben.state(), Some(&base)).len(), 1);
    let merged = merged(ann.state(), ben.state(), Some(&base));
    assert_eq!((merged.beads().len(), merged.conflicts().len()), (0, 0));
    decode(&merged.encode());
}

#[test]
fn only_a_bead_created_below_the_floor_can_have_been_dropped() {
    let mut state = State::default();
    state
        .join_delta(&Delta {
            gc_floor: Some(Floor { epoch: 0, stamp: mark(5_000, 7, "ann").at() }),
            ..Delta::default()
        })
        .unwrap();
    let written = |born: Stamp| {
        let patch = value::patch(Field::Title, mark(9_000, 0, "ann"), &value::group(Field::Title, 1));
        Delta::of_bead(Lineage::new(id("bd-a"), born, actor("ann")), patch)
    };
    assert!(state.join_delta(&written(mark(5_000, 6, "ann").at())).is_ok());
    assert!(
        state.join_delta(&written(mark(5_000, 7, "ann").at())).is_err(),
        "the bead should be in the state"
    );
}
