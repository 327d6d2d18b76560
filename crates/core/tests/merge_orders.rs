//! Merges whose result once depended, or easily could depend, on their order. Every order and every grouping
//! of the parts must produce the same bytes.

use std::sync::Arc;

use beads_core::{
    Claim, Deletion, Delta, Edge, EdgeKey, EdgeKind, Field, Lineage, Mark, Note, Patch, Snapshot, State,
};
use serde_json::json;

use crate::support::{actor, assert_same, id, join, mark, show, value};

/// Joins the parts in every order and grouping, and asserts that the results are the same.
fn merge_in_all_orders(parts: &[State]) -> Snapshot {
    let files: Vec<_> = parts.iter().map(State::encode).collect();
    let mut results = permutations(&files).into_iter().flat_map(|order| groupings(&order));
    let first = results.next().unwrap();
    for other in results {
        assert_same("the result depends on the order of merges", &first, &other);
    }
    first
}

fn permutations(parts: &[Snapshot]) -> Vec<Vec<Snapshot>> {
    if parts.is_empty() {
        return vec![Vec::new()];
    }
    let with_head = |head: usize| {
        let rest: Vec<_> = [&parts[..head], &parts[head + 1..]].concat();
        permutations(&rest).into_iter().map(move |tail| [vec![parts[head].clone()], tail].concat())
    };
    (0..parts.len()).flat_map(with_head).collect()
}

fn groupings(parts: &[Snapshot]) -> Vec<Snapshot> {
    if let [only] = parts {
        return vec![only.clone()];
    }
    let mut results = Vec::new();
    for cut in 1..parts.len() {
        for left in groupings(&parts[..cut]) {
            results.extend(groupings(&parts[cut..]).iter().map(|right| join(&left, right)));
        }
    }
    results
}

fn bead(born: &str, ms: u64, by: &str) -> (Lineage, Delta) {
    let mark = mark(ms, 0, by);
    let lineage = Lineage::new(id(born), mark.at(), actor(by));
    (lineage.clone(), Delta::of_bead(lineage, value::birth(&mark)))
}

fn state(deltas: &[&Delta]) -> State {
    let mut state = State::default();
    for delta in deltas {
        state.join_delta(delta).unwrap();
    }
    state
}

fn write(lineage: &Lineage, field: Field, value: u8, mark: Mark) -> Delta {
    Delta::of_bead(lineage.clone(), value::patch(field, mark, &value::group(field, value)))
}

fn delete(lineage: &Lineage, mark: Mark) -> Delta {
    let deletion = Some(Deletion::new(mark, "old".parse().unwrap()));
    Delta::of_bead(lineage.clone(), Patch { deletion, ..Patch::default() })
}

fn claim(lineage: &Lineage, claim: Claim) -> Delta {
    Delta::of_bead(lineage.clone(), Patch { claim: Some(claim), ..Patch::default() })
}

fn note(lineage: &Lineage, note: Note) -> Delta {
    Delta::of_bead(lineage.clone(), Patch { notes: vec![Arc::new(note)], ..Patch::default() })
}

fn edge(from: &Lineage, to: &Lineage, kind: EdgeKind, mark: Mark) -> Delta {
    Delta::of_edge(EdgeKey::new(from, to, kind), Edge::added(mark))
}

fn ids(file: &[u8]) -> Vec<String> {
    let lines = std::str::from_utf8(file).unwrap().lines();
    let line = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
    lines.map(|text| line(text)["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn three_beads_with_one_id() {
    let parts = [("ann", 10), ("bob", 11), ("cy", 12)].map(|(by, ms)| state(&[&bead("bd-a", ms, by).1]));
    let files = merge_in_all_orders(&parts);
    assert_eq!(ids(&files.state).len(), 3, "{}", show(&files));
    assert_eq!(ids(&files.tombstones), ["bd-a"]);
}

#[test]
fn three_beads_with_one_id_and_one_stamp() {
    let parts = ["cy", "ann", "bob"].map(|by| state(&[&bead("bd-a.1", 10, by).1]));
    let files = merge_in_all_orders(&parts);
    let winner = String::from_utf8(files.state).unwrap();
    assert!(winner.lines().next().unwrap().contains(r#""created_by":"ann","id":"bd-a.1""#), "{winner}");
}

#[test]
fn a_derived_id_that_a_fourth_bead_was_born_with() {
    let (_, first) = bead("bd-a", 10, "ann");
    let (loser, second) = bead("bd-a", 11, "bob");
    let derived = state(&[&first, &second]).names().id_of(&loser).to_string();
    let (_, fourth) = bead(&derived, 12, "cy");
    let parts = [state(&[&first]), state(&[&second]), state(&[&fourth])];
    let files = merge_in_all_orders(&parts);
    assert_eq!(ids(&files.tombstones), ["bd-a", &derived], "{}", show(&files));
}

/// Two losers with the same stamp whose suffixes, found by search, lead to the same id: `bd-a.1` + `3347073`
/// and `bd-a.13` + `347073`. The actor is compared before the birth id.
#[test]
fn two_losers_that_want_one_derived_id() {
    let older = ["bd-a.1", "bd-a.13", "bd-a.1334707"].map(|born| bead(born, 1, "cy").1);
    let (bobs, second) = bead("bd-a.1", 357_572, "bob");
    let (anns, third) = bead("bd-a.13", 357_572, "ann");
    let files = merge_in_all_orders(&[state(&older.each_ref()), state(&[&second]), state(&[&third])]);
    let names = crate::support::decode(&files).names().clone();
    assert_eq!(names.id_of(&anns).as_str(), "bd-a.13347073");
    assert_eq!(names.id_of(&bobs).as_str().len(), "bd-a.1".len() + 8);
}

#[test]
fn a_loser_with_children_and_edges() {
    let (winner, birth) = bead("bd-a", 10, "ann");
    let (loser, rival) = bead("bd-a", 11, "bob");
    let (child, born_under_loser) = bead("bd-a.1", 12, "bob");
    let (other, bystander) = bead("bd-b", 9, "cy");
    let under = edge(&child, &loser, EdgeKind::Parent, mark(13, 0, "bob"));
    let waits = edge(&loser, &child, EdgeKind::Blocks, mark(14, 0, "bob"));
    let (other_child, rival_child) = bead("bd-a.1", 8, "cy");
    let across = edge(&other_child, &other, EdgeKind::Blocks, mark(15, 0, "cy"));
    let files = merge_in_all_orders(&[
        state(&[&birth]),
        state(&[&rival, &born_under_loser, &under, &waits]),
        state(&[&bystander, &rival_child, &across]),
    ]);
    let all = state(&[&birth, &rival, &born_under_loser, &bystander, &rival_child]);
    let name = |lineage: &Lineage| all.names().id_of(lineage).to_string();
    assert_eq!((name(&winner), name(&other_child)), ("bd-a".into(), "bd-a.1".into()));
    let deps = String::from_utf8(files.deps).unwrap();
    for (from, to) in [(&child, &loser), (&loser, &child), (&other_child, &other)] {
        let (from, to) = (format!("\"from\":\"{}\"", name(from)), format!("\"to\":\"{}\"", name(to)));
        assert!(deps.lines().any(|line| line.contains(&from) && line.contains(&to)), "{from} {to}\n{deps}");
    }
}

/// A deletion between two edits: the later edit revives the bead, and the earlier one must not be lost.
#[test]
fn delete_edit_edit() {
    let (lineage, birth) = bead("bd-a", 10, "ann");
    let early = write(&lineage, Field::Design, 1, mark(15, 0, "bob"));
    let gone = delete(&lineage, mark(20, 0, "ann"));
    let late = write(&lineage, Field::Title, 1, mark(25, 0, "cy"));
    let files =
        merge_in_all_orders(&[state(&[&birth, &early]), state(&[&birth, &gone]), state(&[&birth, &late])]);
    let line = String::from_utf8(files.state).unwrap();
    assert!(line.contains(r#""design":"one""#) && line.contains(r#""title":"t1""#), "{line}");
    assert!(files.tombstones.is_empty());
}

#[test]
fn delete_edit_edit_where_both_edits_came_first() {
    let (lineage, birth) = bead("bd-a", 10, "ann");
    let one = write(&lineage, Field::Design, 1, mark(15, 0, "bob"));
    let two = write(&lineage, Field::Title, 1, mark(20, 0, "ann"));
    let gone = delete(&lineage, mark(20, 0, "ann"));
    let files =
        merge_in_all_orders(&[state(&[&birth, &one]), state(&[&birth, &gone]), state(&[&birth, &two])]);
    assert!(files.state.is_empty(), "a write with the same mark as the deletion is not after it");
    let line = String::from_utf8(files.tombstones).unwrap();
    assert!(line.contains(r#""design":"one""#) && line.contains(r#""title":"t1""#), "{line}");
}

/// A renewal after a deletion belongs to a claim that a later claim replaces. If it revived the bead, the
/// result would depend on the order of merges (docs/adr/0001-renewals-do-not-revive-a-bead.md).
#[test]
fn claim_renew_delete() {
    let (lineage, birth) = bead("bd-a", 10, "ann");
    let expires = |ms: u64| value::typed(Some(&json!(ms)), json!(null));
    let first = Claim::new(mark(20, 0, "ann"), Some(actor("ann")), expires(100));
    let renewed = claim(&lineage, first.renewed(mark(50, 0, "ann"), expires(200)));
    let second = claim(&lineage, Claim::new(mark(30, 0, "bob"), Some(actor("bob")), expires(150)));
    let gone = delete(&lineage, mark(40, 0, "cy"));
    let files = merge_in_all_orders(&[
        state(&[&birth, &renewed]),
        state(&[&birth, &second]),
        state(&[&birth, &claim(&lineage, first), &gone]),
    ]);
    assert!(files.state.is_empty(), "{}", show(&files));
    let line = String::from_utf8(files.tombstones).unwrap();
    assert!(line.contains(r#""assignee":"bob","assignee_expires":150"#), "{line}");
}

/// A join must never decrease the stamp of a note; otherwise the order of merges would decide whether the
/// bead is deleted.
#[test]
fn two_notes_with_one_id_and_a_deletion_between_them() {
    let (lineage, birth) = bead("bd-a", 1, "ann");
    let forged = |ms| {
        let real = Note::new(&lineage, &mark(ms, 0, "ann"), "text".parse().unwrap(), None);
        note(&lineage, Note { id: "0123456789ab".into(), ..real })
    };
    let gone = delete(&lineage, mark(50, 0, "cy"));
    // As text, "[9," is greater than "[100,".
    let parts = [state(&[&birth, &forged(100)]), state(&[&birth, &forged(9)]), state(&[&birth, &gone])];
    let files = merge_in_all_orders(&parts);
    assert!(files.tombstones.is_empty(), "{}", show(&files));
}

/// Equal as numbers, different as bytes.
#[test]
fn two_zeros_under_one_mark() {
    let (lineage, birth) = bead("bd-a", 1, "ann");
    let zero = |text: &str| {
        let group = json!({"metadata": serde_json::from_str::<serde_json::Value>(text).unwrap()});
        let patch = value::patch(Field::Metadata, mark(5, 0, "ann"), group.as_object().unwrap());
        Delta::of_bead(lineage.clone(), patch)
    };
    merge_in_all_orders(&[state(&[&birth, &zero(r#"{"x":0.0}"#)]), state(&[&birth, &zero(r#"{"x":-0.0}"#)])]);
}

/// No two replicas mint the same mark, but files can claim that they did.
#[test]
fn different_values_of_any_field_under_one_mark() {
    let (lineage, birth) = bead("bd-a", 1, "ann");
    let written =
        |field: Field, value: u8| state(&[&birth, &write(&lineage, field, value, mark(5, 0, "ann"))]);
    for field in Field::ALL.iter().filter(|field| **field != Field::AssigneeExpires) {
        merge_in_all_orders(&[written(*field, 0), written(*field, 1), written(*field, 2)]);
    }
}

#[test]
fn two_holders_under_one_mark() {
    let (lineage, birth) = bead("bd-a", 1, "ann");
    let expires = || value::typed(Some(&json!(100)), json!(null));
    let held = |by: &str| {
        let claimed = Claim::new(mark(5, 0, "ann"), Some(actor(by)), expires());
        state(&[&birth, &claim(&lineage, claimed)])
    };
    merge_in_all_orders(&[held("ann"), held("bob"), held("cy")]);
}

/// An edge that is added, removed and added again, in any order and with a tie between the last two.
#[test]
fn an_edge_removed_and_added_under_one_mark() {
    let ((from, one), (to, two)) = (bead("bd-a", 1, "ann"), bead("bd-b", 2, "ann"));
    let key = || EdgeKey::new(&from, &to, EdgeKind::Blocks);
    let change =
        |changed: Mark, deleted| Delta::of_edge(key(), Edge { created: mark(9, 0, "ann"), changed, deleted });
    let files = merge_in_all_orders(&[
        state(&[&one, &two, &edge(&from, &to, EdgeKind::Blocks, mark(10, 0, "bob"))]),
        state(&[&one, &two, &change(mark(20, 0, "ann"), true)]),
        state(&[&one, &two, &change(mark(20, 0, "ann"), false)]),
    ]);
    let deps = String::from_utf8(files.deps).unwrap();
    assert!(deps.contains(r#""created_at":[9,0],"created_by":"ann","deleted_at":[20,0]"#), "{deps}");
}
