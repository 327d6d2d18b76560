//! What each operation writes, leaves unchanged, rejects and reports.

use beads_core::op::{
    Change, ClaimBead, ClaimNext, Close, Create, Delete, Dep, DepAdd, DepRemove, DepRole, NoteAdd, Op, Renew,
    Reopen, Restore, SetPrefix, Unclaim, Update,
};
use beads_core::query::Filter;
use beads_core::{Applied, BeadType, EdgeKind, Error, Field, Patch, Slot, Status};
use serde_json::{Value, json};

use crate::support::actor;
use crate::support::side::{Side, create, titled};

fn close(id: &str) -> Op {
    Op::Close(Close { id: id.into(), ..Close::default() })
}

fn close_for(id: &str, reason: &str) -> Op {
    Op::Close(Close { id: id.into(), reason: reason.parse().unwrap(), ..Close::default() })
}

fn delete(id: &str) -> Op {
    Op::Delete(Delete { id: id.into(), ..Delete::default() })
}

fn claim(id: &str) -> Op {
    Op::Claim(ClaimBead { id: id.into(), ..ClaimBead::default() })
}

fn update(fields: Value) -> Op {
    Op::Update(Box::new(serde_json::from_value(fields).unwrap()))
}

fn add(from: &str, kind: EdgeKind, to: &str) -> Op {
    Op::DepAdd(DepAdd { from: from.into(), to: to.into(), kind })
}

fn remove(from: &str, kind: EdgeKind, to: &str) -> Op {
    Op::DepRemove(DepRemove { from: from.into(), to: to.into(), kind })
}

fn status(side: &Side, id: &str) -> Status {
    side.bead(id).status.value.status
}

/// Returns the only patch of an operation on one bead.
fn patch(applied: &Applied) -> &Patch {
    let [patch] = applied.delta.beads.values().collect::<Vec<_>>()[..] else { panic!("{applied:?}") };
    patch
}

fn written(applied: &Applied) -> Vec<Field> {
    patch(applied).marks().map(|(field, _)| field).collect()
}

fn parents(side: &Side, id: &str) -> Vec<String> {
    let parents = side.catalog.targets(side.catalog.resolve(id).unwrap(), EdgeKind::Parent);
    parents.map(|parent| side.catalog.id_of(parent).to_string()).collect()
}

fn ids(side: &Side, lineages: &[beads_core::Lineage]) -> Vec<String> {
    lineages.iter().map(|lineage| side.catalog.id_of(lineage).to_string()).collect()
}

#[test]
fn a_new_bead_has_all_requested_fields() {
    let mut side = Side::with(&["bd-1"]);
    let asked = json!({
        "title": "a title", "id": "bd-2", "type": "bug", "priority": 0, "description": "d", "design": "e",
        "acceptance_criteria": "a", "notes": "first", "assignee": "ben", "labels": ["x", "y"], "deps": ["bd-1"],
        "external_ref": "gh-1", "source_repo": "r", "estimated_minutes": 5, "due_at": 1_900_000_000_000_u64,
        "defer_until": 1_800_000_000_000_u64, "metadata": {"k": 1},
    });
    let made = side.done("ann", &Op::Create(serde_json::from_value(asked.clone()).unwrap()));
    assert_eq!(side.about(&made), "bd-2");
    let bead = side.bead("bd-2");
    let same =
        ["title", "type", "priority", "description", "design", "acceptance_criteria", "assignee", "labels"];
    let more = ["external_ref", "source_repo", "estimated_minutes", "metadata"];
    for name in same.iter().chain(&more) {
        let field = Field::ALL.iter().find(|field| field.name() == *name).unwrap();
        assert_eq!(bead.value_json(*field), asked[name], "{name}");
    }
    assert_eq!(bead.due_at.value.unwrap().ms(), 1_900_000_000_000);
    assert_eq!(bead.defer_until.value.unwrap().ms(), 1_800_000_000_000);
    assert_eq!((status(&side, "bd-2"), bead.created_on_branch.as_str()), (Status::Open, "main"));
    let [note] = bead.notes_in_order()[..] else { panic!("{bead:?}") };
    assert_eq!((note.content.as_str(), note.slot), ("first", Some(Slot::Notes)));
    let blockers = side.catalog.targets(side.catalog.resolve("bd-2").unwrap(), EdgeKind::Blocks);
    assert_eq!(ids(&side, &blockers.cloned().collect::<Vec<_>>()), ["bd-1"]);
    assert!(side.bead("bd-1").notes.is_empty(), "without a text there is no note");
}

#[test]
fn a_printed_dependency_can_be_parsed() {
    let related = Dep { role: DepRole::Related, id: "bd-1".into() };
    assert_eq!("related: bd-1".parse(), Ok(related.clone()));
    assert_eq!("bd-1".parse(), Ok(Dep { role: DepRole::DependsOn, id: "bd-1".into() }));
    assert!("nonsense:bd-1".parse::<Dep>().is_err());
    assert_eq!(serde_json::to_value(&related).unwrap(), json!("related:bd-1"));
    assert_eq!(serde_json::from_value::<Dep>(json!("related:bd-1")).unwrap(), related);
}

#[test]
fn ids_are_never_reused_and_have_a_maximum_length() {
    let mut side = Side::with(&["bd-1"]);
    side.done("ann", &delete("bd-1"));
    assert!(matches!(side.refused("ann", &create("bd-1")), Error::IdTaken(_)));
    let longest = format!("bd-{}", "x".repeat(125));
    side.done("ann", &create(&longest));
    assert!(matches!(side.refused("ann", &create(&format!("{longest}x"))), Error::Invalid { .. }));
    let child = Create { parent: Some(longest), ..Create::titled("child".parse().unwrap()) };
    let refused = side.refused("ann", &Op::Create(Box::new(child)));
    assert!(matches!(refused, Error::Invalid { field: "parent", .. }), "{refused}");
}

#[test]
fn a_minted_id_is_random_and_drawn_again_on_a_collision() {
    let mut side = Side::with(&[]);
    let untitled = Op::Create(Box::new(Create::titled("minted".parse().unwrap())));
    let number = 36 * 36 + 35;
    side.random_numbers = vec![36_u64.pow(4) + number, number, 2];
    let (first, second) = (side.done("ann", &untitled), side.done("ann", &untitled));
    assert_eq!((side.about(&first), side.about(&second)), ("bd-010z", "bd-0002"));
    let chosen = side.done("ann", &Op::SetPrefix(SetPrefix { prefix: "app".parse().unwrap() }));
    assert!(chosen.delta.prefix.is_some());
    let third = side.done("ann", &untitled);
    assert_eq!(side.about(&third), "app-0002");
    let again = side.done("ann", &Op::SetPrefix(SetPrefix { prefix: "app".parse().unwrap() }));
    assert!(again.delta.is_empty(), "it is already the prefix");
}

#[test]
fn children_are_numbered_after_the_highest_number_ever_used() {
    let mut side = Side::with(&["bd-1", "bd-1.7"]);
    side.done("ann", &delete("bd-1.7"));
    let child = Create { parent: Some("bd-1".into()), ..Create::titled("child".parse().unwrap()) };
    for expected in ["bd-1.8", "bd-1.9"] {
        let made = side.done("ann", &Op::Create(Box::new(child.clone())));
        assert_eq!(side.about(&made), expected);
        assert_eq!(parents(&side, expected), ["bd-1"]);
    }
    side.done("ann", &create(&format!("bd-1.{}", u64::MAX)));
    for expected in ["bd-1.0", "bd-1.1"] {
        let made = side.done("ann", &Op::Create(Box::new(child.clone())));
        assert_eq!(side.about(&made), expected, "there is no higher number");
    }
}

#[test]
fn an_update_writes_only_changed_fields() {
    let mut side = Side::with(&["bd-1"]);
    let asked =
        json!({"id": "bd-1", "title": "new", "priority": 2, "due_at": 1_900_000_000_000_u64, "notes": "hm"});
    let first = side.done("ann", &update(asked.clone()));
    assert_eq!(written(&first), [Field::Title, Field::DueAt], "the priority is already 2");
    assert_eq!(side.about(&first), "bd-1");
    assert_eq!(side.bead("bd-1").notes_in_order()[0].slot, Some(Slot::Notes));
    let same = side.done("ann", &update(json!({"id": "bd-1", "title": "new", "notes": ""})));
    assert!(same.delta.is_empty(), "{same:?}");
    assert_eq!(side.about(&same), "bd-1");
    let cleared = side.done("ann", &update(json!({"id": "bd-1", "due_at": null})));
    assert_eq!((written(&cleared), side.bead("bd-1").due_at.value), (vec![Field::DueAt], None));
}

#[test]
fn an_absent_field_changes_nothing_and_null_or_an_empty_text_clears() {
    let read = |assignee: Value| -> Update {
        serde_json::from_value(json!({"id": "x", "assignee": assignee})).unwrap()
    };
    assert_eq!(read(json!("ann")).assignee, Some(Change::Set(actor("ann"))));
    assert_eq!(read(json!(null)).assignee, Some(Change::Clear));
    assert_eq!(read(json!("")).assignee, Some(Change::Clear));
    assert_eq!(serde_json::from_value::<Update>(json!({"id": "x"})).unwrap().assignee, None);
    for change in [Change::Set(actor("ann")), Change::Clear] {
        let update = Update { assignee: Some(change.clone()), ..Update::of("x") };
        let wire = serde_json::to_value(&update).unwrap();
        assert_eq!(wire["assignee"], json!(change.value()));
        assert_eq!(serde_json::from_value::<Update>(wire).unwrap(), update);
    }
}

#[test]
fn labels_are_set_then_removed_then_added() {
    let mut side = Side::with(&["bd-1"]);
    let changes = [
        (json!({"set_labels": ["a", "b"]}), json!(["a", "b"])),
        (json!({"add_labels": ["c"]}), json!(["a", "b", "c"])),
        (json!({"remove_labels": ["a"]}), json!(["b", "c"])),
        (json!({"set_labels": ["x", "y"], "remove_labels": ["x"], "add_labels": ["z"]}), json!(["y", "z"])),
        (json!({"title": "another"}), json!(["y", "z"])),
        (json!({"set_labels": []}), json!(null)),
    ];
    for (mut change, expected) in changes {
        change["id"] = json!("bd-1");
        side.done("ann", &update(change.clone()));
        assert_eq!(side.bead("bd-1").value_json(Field::Labels), expected, "{change}");
    }
}

#[test]
fn closing_by_an_update_reports_unblocked_beads() {
    let mut side = Side::with(&["bd-1", "bd-2"]);
    side.done("ann", &add("bd-2", EdgeKind::Blocks, "bd-1"));
    let opened = side.done("ann", &update(json!({"id": "bd-1", "status": "open", "assignee": "ben"})));
    assert_eq!(written(&opened), [Field::Assignee, Field::AssigneeExpires], "it is already open");
    let same = side.done("ann", &update(json!({"id": "bd-1", "assignee": "ben"})));
    assert!(same.delta.is_empty());
    let started = side.done("ann", &update(json!({"id": "bd-1", "status": "in_progress"})));
    assert_eq!(started.unblocked, []);
    let closed = side.done("ann", &update(json!({"id": "bd-1", "status": "closed"})));
    assert_eq!(ids(&side, &closed.unblocked), ["bd-2"]);
    assert_eq!(side.bead("bd-1").status.value.closed_on_branch.as_str(), "main");
    side.done("ann", &update(json!({"id": "bd-1", "assignee": ""})));
    assert_eq!(side.bead("bd-1").claim.assignee, None);
}

#[test]
fn a_bead_can_be_moved_to_another_parent() {
    let mut side = Side::with(&["bd-1", "bd-2", "bd-3"]);
    let to = |parent: Value| update(json!({"id": "bd-3", "parent": parent}));
    side.done("ann", &to(json!("bd-1")));
    assert_eq!(parents(&side, "bd-3"), ["bd-1"]);
    assert!(side.done("ann", &to(json!("bd-1"))).delta.is_empty(), "it is already there");
    let before = side.catalog.state().edges().values().next().unwrap().clone();
    let moved = side.done("ann", &to(json!("bd-2")));
    assert_eq!(parents(&side, "bd-3"), ["bd-2"]);
    assert!(moved.delta.beads.is_empty(), "the bead itself is unchanged: {moved:?}");
    let gone = moved.delta.edges.values().find(|edge| edge.deleted).unwrap();
    assert_eq!(gone.created, before.created, "the first creation is kept");
    assert!(matches!(side.refused("ann", &update(json!({"id": "bd-2", "parent": "bd-3"}))), Error::Cycle(_)));
    side.done("ann", &to(json!(null)));
    assert_eq!(parents(&side, "bd-3"), Vec::<String>::new());
    // The write must win over the removal even if the wall clock is behind.
    side.now_ms = 0;
    side.done("ann", &to(json!("bd-2")));
    assert_eq!(parents(&side, "bd-3"), ["bd-2"]);
}

#[test]
fn closing_reports_unblocked_beads_and_closing_again_changes_nothing_unless_forced() {
    let mut side = Side::with(&["bd-1", "bd-2"]);
    side.done("ann", &add("bd-2", EdgeKind::Blocks, "bd-1"));
    let closed = side.done("ann", &close_for("bd-1", "done"));
    assert_eq!((side.about(&closed), ids(&side, &closed.unblocked)), ("bd-1", vec!["bd-2".to_owned()]));
    let group = side.bead("bd-1").status.value.clone();
    assert_eq!(
        (group.status, group.closed_reason.as_str(), group.closed_on_branch.as_str()),
        (Status::Closed, "done", "main")
    );
    assert!(!closed.unchanged);
    for same in [close("bd-1"), close_for("bd-1", "done"), close_for("bd-1", "given up")] {
        let applied = side.done("ann", &same);
        assert!(applied.delta.is_empty() && side.about(&applied) == "bd-1", "{same:?}");
        assert!(applied.unchanged, "{same:?}");
    }
    let forced =
        Close { id: "bd-1".into(), reason: "given up".parse().unwrap(), force: true, ..Close::default() };
    let other = side.done("ann", &Op::Close(forced));
    assert_eq!(other.unblocked, [], "no bead is blocked any more");
    assert_eq!(side.bead("bd-1").status.value.closed_reason.as_str(), "given up");
    let open = side.done("ann", &close("bd-2"));
    assert_eq!(status(&side, side.about(&open)), Status::Closed, "without a reason");
}

/// A new bead may be inserted between two others unless that creates a cycle.
#[test]
fn a_new_bead_can_block_others_unless_that_creates_a_cycle() {
    let mut side = Side::with(&["bd-1", "bd-2"]);
    side.done("ann", &add("bd-1", EdgeKind::Blocks, "bd-2"));
    let between = |deps: &[&str]| {
        let deps = deps.iter().map(|dep| dep.parse().unwrap()).collect();
        Op::Create(Box::new(Create {
            deps,
            id: Some("bd-3".parse().unwrap()),
            ..Create::titled("x".parse().unwrap())
        }))
    };
    assert!(matches!(side.refused("ann", &between(&["bd-1", "blocks:bd-2"])), Error::Cycle(_)));
    assert!(matches!(side.refused("ann", &between(&["bd-1", "blocks:bd-1"])), Error::Cycle(_)));
    side.done("ann", &between(&["blocked-by:bd-2", "blocks:bd-1"]));
    let waits: Vec<_> =
        side.catalog.targets(side.catalog.resolve("bd-1").unwrap(), EdgeKind::Blocks).collect();
    assert_eq!(waits.len(), 2, "bd-1 is blocked by bd-2 and by the new bead");
    let written: String = "depends-on:bd-2".parse::<Dep>().unwrap().into();
    assert_eq!(written, "depends-on:bd-2", "a dependency survives the round trip over the socket");
}

#[test]
fn reopening_ends_the_claim_unless_the_bead_is_in_progress() {
    let reopen = |status: Option<Status>| Reopen { id: "bd-1".into(), status, ..Reopen::default() };
    let mut side = Side::with(&["bd-1"]);
    assert!(side.done("ann", &Op::Reopen(reopen(None))).delta.is_empty(), "it is open");
    side.done("ann", &claim("bd-1"));
    side.done("ann", &close("bd-1"));
    assert!(matches!(side.refused("ann", &Op::Reopen(reopen(Some(Status::Closed)))), Error::Invalid { .. }));

    let mut continued = side.clone();
    let reopened = continued.done("ann", &Op::Reopen(reopen(Some(Status::InProgress))));
    assert_eq!((status(&continued, "bd-1"), &patch(&reopened).claim), (Status::InProgress, &None));
    assert!(patch(&reopened).notes.is_empty());

    let why = Reopen { reason: "not yet".parse().unwrap(), ..reopen(None) };
    side.done("ben", &Op::Reopen(why));
    let bead = side.bead("bd-1").clone();
    assert_eq!((bead.status.value.status, &bead.claim.assignee), (Status::Open, &None));
    assert_eq!(bead.notes_in_order()[0].content.as_str(), "not yet");
    side.done("ben", &close("bd-1"));
    let free = side.done("ben", &Op::Reopen(reopen(None)));
    assert_eq!(patch(&free).claim, None, "no one held it");
}

#[test]
fn a_note_is_added_and_an_empty_one_rejected() {
    let mut side = Side::with(&["bd-1"]);
    let note = |text: &str| {
        Op::NoteAdd(NoteAdd { id: "bd-1".into(), content: text.parse().unwrap(), ..NoteAdd::default() })
    };
    let noted = side.done("ann", &note("hm"));
    let [only] = side.bead("bd-1").notes_in_order()[..] else { panic!("{noted:?}") };
    assert_eq!((&noted.note, only.content.as_str(), only.slot), (&Some(only.id.clone()), "hm", None));
    assert!(matches!(side.refused("ann", &note(" \n")), Error::Invalid { field: "note", .. }));
}

#[test]
fn a_deleted_bead_is_restored_with_a_note() {
    let mut side = Side::with(&["bd-1"]);
    let restore =
        |reason: &str| Restore { id: "bd-1".into(), reason: reason.parse().unwrap(), ..Restore::default() };
    let live = side.done("ann", &Op::Restore(restore("")));
    assert!(live.delta.is_empty() && live.unchanged && side.about(&live) == "bd-1");
    for (reason, kept) in [("", "restored"), ("still needed", "still needed")] {
        let gone = Delete { id: "bd-1".into(), reason: "old".parse().unwrap(), ..Delete::default() };
        side.done("ann", &Op::Delete(gone));
        assert_eq!(side.bead("bd-1").deletion.as_ref().unwrap().reason.as_str(), "old");
        side.done("ann", &Op::Restore(restore(reason)));
        assert!(side.bead("bd-1").deletion.is_none());
        assert_eq!(side.bead("bd-1").notes_in_order().last().unwrap().content.as_str(), kept);
    }
}

#[test]
fn edges_can_be_added_and_removed_but_never_create_a_cycle() {
    let mut side = Side::with(&["bd-1", "bd-2", "bd-3"]);
    let first = side.done("ann", &add("bd-1", EdgeKind::Blocks, "bd-2"));
    let key = first.edge.clone().unwrap();
    assert_eq!((side.about(&first), first.delta.edges.contains_key(&key)), ("bd-1", true));
    let again = side.done("ann", &add("bd-1", EdgeKind::Blocks, "bd-2"));
    assert!(again.delta.is_empty() && again.edge == Some(key.clone()));
    assert!(matches!(side.refused("ann", &add("bd-1", EdgeKind::Related, "bd-1")), Error::SelfEdge(_)));
    side.done("ann", &add("bd-2", EdgeKind::Blocks, "bd-3"));
    let Error::Cycle(path) = side.refused("ann", &add("bd-3", EdgeKind::Blocks, "bd-1")) else {
        panic!("no cycle")
    };
    let path: Vec<_> = path.iter().map(beads_core::BeadId::as_str).collect();
    assert_eq!(path, ["bd-3", "bd-1", "bd-2", "bd-3"]);
    for kind in [EdgeKind::Related, EdgeKind::DiscoveredFrom] {
        side.done("ann", &add("bd-1", kind, "bd-2"));
        side.done("ann", &add("bd-2", kind, "bd-1"));
    }
    let removed = side.done("ann", &remove("bd-1", EdgeKind::Blocks, "bd-2"));
    assert_eq!(removed.edge.as_ref(), Some(&key));
    assert_eq!(removed.delta.edges[&key].created, first.delta.edges[&key].created);
    assert!(side.catalog.state().edge(&key).unwrap().deleted);
    assert!(matches!(
        side.refused("ann", &remove("bd-1", EdgeKind::Blocks, "bd-2")),
        Error::NoSuchEdge { .. }
    ));
    side.done("ann", &add("bd-1", EdgeKind::Blocks, "bd-2"));
    assert!(!side.catalog.state().edge(&key).unwrap().deleted);
}

#[test]
fn the_message_about_a_long_cycle_lists_only_its_ends() {
    let ids: Vec<String> = (0..500).map(|n| format!("bd-{n}")).collect();
    let mut side = Side::with(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    for pair in ids.windows(2) {
        side.done("ann", &add(&pair[0], EdgeKind::Blocks, &pair[1]));
    }
    let error = side.refused("ann", &add("bd-499", EdgeKind::Blocks, "bd-0"));
    assert_eq!(
        error.to_string(),
        "that would create a cycle: bd-499 -> bd-0 -> bd-1 -> bd-2 -> bd-3 -> (491 more) -> \
         bd-495 -> bd-496 -> bd-497 -> bd-498 -> bd-499"
    );
    assert!(matches!(error, Error::Cycle(path) if path.len() == 501));
}

/// A batch substitutes the ids of its own beads in later operations, so every reference must be found.
#[test]
fn every_reference_to_a_bead_in_an_operation_is_found() {
    let deps = vec![Dep { role: DepRole::DependsOn, id: "b".into() }];
    let born = Create { parent: Some("a".into()), deps, ..titled("bd-1") };
    let moved = Update { parent: Some(Change::Set("b".into())), ..Update::of("a") };
    let mut under = ClaimNext::default();
    under.filter.under = Some("a".into());
    let id = || "a".to_owned();
    let ops: [(Op, &[&str]); 16] = [
        (Op::Create(Box::new(born)), &["a", "b"]),
        (Op::Update(Box::new(moved)), &["a", "b"]),
        (Op::Update(Box::new(Update { parent: Some(Change::Clear), ..Update::of("a") })), &["a"]),
        (claim("a"), &["a"]),
        (Op::ClaimNext(Box::new(under)), &["a"]),
        (Op::Renew(Renew { id: id(), ..Renew::default() }), &["a"]),
        (Op::Unclaim(Unclaim { id: id(), ..Unclaim::default() }), &["a"]),
        (close("a"), &["a"]),
        (Op::Reopen(Reopen { id: id(), ..Reopen::default() }), &["a"]),
        (delete("a"), &["a"]),
        (Op::Restore(Restore { id: id(), ..Restore::default() }), &["a"]),
        (Op::NoteAdd(NoteAdd { id: id(), ..NoteAdd::default() }), &["a"]),
        (add("a", EdgeKind::Blocks, "b"), &["a", "b"]),
        (remove("a", EdgeKind::Blocks, "b"), &["a", "b"]),
        (Op::SetPrefix(SetPrefix { prefix: "a".parse().unwrap() }), &[]),
        (Op::Undo(Box::default()), &[]),
    ];
    for (mut op, names) in ops {
        let shown = format!("{op:?}");
        assert_eq!(op.references_mut(), names, "{shown}");
    }
}

#[test]
fn a_type_and_an_estimate_can_be_set_and_an_estimate_cleared() {
    let mut side = Side::with(&["bd-1"]);
    side.done("ann", &update(json!({"id": "bd-1", "type": "epic", "estimated_minutes": 9})));
    let bead = side.bead("bd-1");
    assert_eq!((bead.kind.value.kind, bead.value_json(Field::EstimatedMinutes)), (BeadType::Epic, json!(9)));
    side.done("ann", &update(json!({"id": "bd-1", "estimated_minutes": ""})));
    assert_eq!(side.bead("bd-1").estimated_minutes.value, None);
}

/// Merges add up notes, so notes have a separate limit, far below that of a line.
#[test]
fn the_notes_of_a_bead_have_a_separate_limit() {
    let mut side = Side::with(&["bd-1"]);
    let add = |content: &str| {
        Op::NoteAdd(NoteAdd { id: "bd-1".into(), content: content.parse().unwrap(), ..NoteAdd::default() })
    };
    let half = "x".repeat(beads_core::limits::MAX_NOTES_BYTES / 2 - 4096);
    side.done("ann", &add(&half));
    side.done("ann", &add(&half));
    let refused = side.refused("ann", &add(&half));
    assert!(matches!(refused, Error::NotesTooLarge { .. }), "{refused}");
    // The rest of the bead can still be changed.
    side.done("ann", &close("bd-1"));
}

#[test]
fn a_list_finds_the_bead_with_an_external_reference() {
    let mut side = Side::with(&["bd-a", "bd-b", "bd-c"]);
    side.done("ann", &update(json!({"id": "bd-b", "external_ref": "TASK-001"})));
    side.done("ann", &update(json!({"id": "bd-c", "external_ref": "TASK-0010"})));
    let found = |asked: &str| -> Vec<String> {
        let filter = Filter { external_ref: Some(asked.to_owned()), limit: Some(1), ..Filter::default() };
        let found = side.catalog.list(&filter).unwrap();
        found.iter().map(|lineage| side.catalog.id_of(lineage).to_string()).collect()
    };
    assert_eq!(found("TASK-001"), ["bd-b"]);
    assert_eq!(found("TASK-0010"), ["bd-c"]);
    assert_eq!(found("TASK-00"), [""; 0], "the whole reference is compared");
    side.done("ann", &delete("bd-b"));
    let gone = Filter { external_ref: Some("TASK-001".to_owned()), ..Filter::default() };
    assert_eq!(side.catalog.list(&gone).unwrap(), []);
}
