//! Edge cases of deltas. The laws that random deltas obey are in `laws.rs`.

use beads_core::{
    Catalog, Conflict, Deletion, Delta, Edge, EdgeKey, EdgeKind, Error, Field, Lineage, Metadata, Patch,
    PrefixRegister, State,
};
use serde_json::json;

use crate::support::{actor, assert_same, id, mark, value};

fn birth(born: &str, ms: u64) -> (Lineage, Delta) {
    let mark = mark(ms, 0, "ann");
    let lineage = Lineage::new(id(born), mark.at(), actor("ann"));
    (lineage.clone(), Delta::of_bead(lineage, value::birth(&mark)))
}

#[test]
fn a_delta_with_unknown_beads_is_rejected_and_changes_nothing() {
    let ((here, first), (unknown, second)) = (birth("bd-a", 1), birth("bd-b", 2));
    let mut state = State::default();
    state.join_delta(&first).unwrap();
    let before = state.encode();
    let edit = value::patch(Field::Title, mark(3, 0, "ann"), &value::group(Field::Title, 0));
    let edge = |from: &Lineage, to: &Lineage| {
        Delta::of_edge(EdgeKey::new(from, to, EdgeKind::Blocks), Edge::added(mark(4, 0, "ann")))
    };
    let mut mixed = Delta::of_bead(here.clone(), edit.clone());
    mixed.beads.insert(unknown.clone(), edit.clone());
    for delta in [Delta::of_bead(unknown.clone(), edit), mixed, edge(&here, &unknown), edge(&unknown, &here)]
    {
        assert!(matches!(state.join_delta(&delta), Err(Error::NotFound(_))), "{delta:?}");
        assert_same("nothing changed", &state.encode(), &before);
    }
    let mut whole = edge(&here, &unknown);
    whole.beads = second.beads;
    state.join_delta(&whole).unwrap();
    assert_eq!(state.edges().len(), 1, "a delta may contain its beads");
}

/// The indexes are the same whether beads arrive one by one or all at once.
#[test]
fn many_beads_at_once_are_indexed_like_single_ones() {
    let births: Vec<_> = (1..=200).map(|ms| birth(&format!("bd-{ms}"), ms)).collect();
    let (mut one_by_one, mut at_once) = (Catalog::default(), Catalog::default());
    let mut all = Delta::default();
    for (lineage, delta) in &births {
        one_by_one.join_delta(delta).unwrap();
        all.beads.extend(delta.beads.clone());
        if let Some((other, _)) = births.iter().find(|(other, _)| other.at().ms() * 2 == lineage.at().ms()) {
            let key = EdgeKey::new(lineage, other, EdgeKind::Blocks);
            let edge = Edge::added(mark(999, 0, "ann"));
            one_by_one.join_delta(&Delta::of_edge(key.clone(), edge.clone())).unwrap();
            all.edges.insert(key, edge);
        }
    }
    at_once.join_delta(&all).unwrap();
    assert_eq!(at_once.open_and_unblocked().count(), 100);
    assert!(at_once == one_by_one && at_once == Catalog::from(at_once.state().clone()));
}

/// A bead that is created, deleted and changed again within one delta is live.
#[test]
fn a_superseded_deletion_in_a_birth_is_dropped() {
    for (deleted_at, is_live) in [(0, true), (1, false), (2, false)] {
        let (lineage, mut delta) = birth("bd-a", 1);
        let deletion = Deletion::new(mark(deleted_at, 0, "ann"), "x".parse().unwrap());
        delta.beads.get_mut(&lineage).unwrap().deletion = Some(deletion);
        let mut state = State::default();
        state.join_delta(&delta).unwrap();
        let bead = state.bead(&lineage).unwrap();
        assert_eq!((bead.is_live(), bead.deletion.is_none()), (is_live, is_live));
        assert!(state.encode().decode().unwrap().state == state);
    }
}

/// Metadata of the maximum depth can be read back from the journal and the files.
#[test]
fn deep_metadata_survives_journal_and_files() {
    let nested = |depth: usize| format!(r#"{{"x":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert!(nested(65).parse::<Metadata>().is_err());
    assert!(nested(1_000_000).parse::<Metadata>().is_err());
    let deepest: Metadata = nested(64).parse().unwrap();
    let (lineage, delta) = birth("bd-a", 1);
    let group = json!({"metadata": deepest});
    let patch = Patch {
        deletion: Some(Deletion::new(mark(9, 0, "ann"), "x".parse().unwrap())),
        ..value::patch(Field::Metadata, mark(5, 0, "ann"), group.as_object().unwrap())
    };
    let write = Delta::of_bead(lineage, patch);
    let journaled = serde_json::to_vec(&write).unwrap();
    assert_eq!(serde_json::from_slice::<Delta>(&journaled).unwrap(), write);
    let mut state = State::default();
    state.join_delta(&delta).unwrap();
    state.join_delta(&write).unwrap();
    assert!(state.encode().decode().unwrap().state == state);
}

#[test]
fn indexes_follow_an_edge_that_is_removed_and_added_again() {
    let ((from, first), (to, second)) = (birth("bd-a", 1), birth("bd-b", 2));
    let mut catalog = Catalog::default();
    catalog.join_delta(&first).unwrap();
    catalog.join_delta(&second).unwrap();
    for (ms, deleted) in [(10, false), (20, true), (30, false), (40, true)] {
        let edge = Edge { created: mark(10, 0, "ann"), changed: mark(ms, 0, "ann"), deleted };
        catalog.join_delta(&Delta::of_edge(EdgeKey::new(&from, &to, EdgeKind::Blocks), edge)).unwrap();
        assert_eq!(catalog.targets(&from, EdgeKind::Blocks).count(), usize::from(!deleted), "at {ms}");
        assert_eq!(catalog.open_and_unblocked().count(), if deleted { 2 } else { 1 }, "at {ms}");
    }
}

/// Returns a delta with changes of every kind.
fn of_every_kind() -> Delta {
    let ((from, first), (to, second)) = (birth("bd-a", 1), birth("bd-b", 2));
    let (lost, won) = (mark(5, 0, "ann"), mark(6, 0, "ben"));
    let conflict =
        Conflict { bead: from.clone(), field: Field::Title, value: json!("x"), lost, won, dismissed: None };
    let edge = Edge::added(mark(3, 0, "ann"));
    let mut delta = Delta {
        prefix: Some(PrefixRegister::chosen("app".parse().unwrap(), mark(4, 0, "ann").at(), actor("ann"))),
        conflicts: vec![conflict],
        gc_floor: Some(beads_core::Floor { epoch: 0, stamp: mark(1, 0, "ann").at() }),
        ..Delta::of_edge(EdgeKey::new(&from, &to, EdgeKind::Blocks), edge)
    };
    delta.join(&first);
    delta.join(&second);
    delta
}

#[test]
fn the_journal_keeps_every_part_of_a_delta() {
    let delta = of_every_kind();
    assert!(!delta.is_empty() && Delta::default().is_empty());
    assert_eq!((delta.beads.len(), delta.edges.len()), (2, 1));
    let journaled = serde_json::to_vec(&delta).unwrap();
    assert_eq!(serde_json::from_slice::<Delta>(&journaled).unwrap(), delta);
}

#[test]
fn the_later_prefix_of_two_deltas_wins_in_any_order() {
    let chosen = |prefix: &str, ms: u64| Delta {
        prefix: Some(PrefixRegister::chosen(prefix.parse().unwrap(), mark(ms, 0, "ann").at(), actor("ann"))),
        ..Delta::default()
    };
    let (old, new) = (chosen("zz", 1), chosen("app", 2));
    for (first, second) in [(&old, &new), (&new, &old), (&Delta::default(), &new), (&new, &Delta::default())]
    {
        let mut both = first.clone();
        both.join(second);
        assert_eq!(both, new);
    }
}

/// Journal records have a maximum size, and an import may be larger.
#[test]
fn a_delta_can_be_split_into_parts_of_limited_size() {
    let mut delta = of_every_kind();
    for number in 0..3 {
        delta.join(&birth(&format!("bd-{number}"), 3 + number).1);
    }
    // A bead counts as its texts and 512 bytes.
    for (bytes, beads) in [(1, vec![1; 5]), (1_100, vec![2, 2, 1]), (usize::MAX, vec![5])] {
        let parts = delta.clone().split(bytes);
        let filled: Vec<usize> =
            parts.iter().map(|part| part.beads.len()).filter(|beads| *beads > 0).collect();
        assert_eq!(filled, beads, "{bytes}");
        assert!(parts.iter().all(|part| !part.is_empty()));
        let mut whole = Delta::default();
        let mut state = State::default();
        for part in &parts {
            whole.join(part);
            state.join_delta(part).unwrap();
        }
        assert_eq!(whole, delta, "{bytes}");
    }
    assert_eq!(Delta::default().split(1), []);
}

#[test]
fn edges_are_split_too() {
    let lineages: Vec<_> = (0..8).map(|number| birth(&format!("bd-{number}"), 10).0).collect();
    let mut delta = Delta::default();
    for to in &lineages[1..] {
        let key = EdgeKey::new(&lineages[0], to, EdgeKind::Blocks);
        delta.edges.insert(key, Edge::added(mark(20, 0, "ann")));
    }
    // Each counts as 512 bytes, and the one that exceeds the limit is the last of its part.
    let parts = delta.split(1_024);
    assert_eq!(parts.iter().map(|part| part.edges.len()).collect::<Vec<_>>(), [3, 3, 1]);
}

#[test]
fn the_mark_of_a_new_bead_is_written_once_and_the_form_of_earlier_releases_is_read() {
    let (lineage, same) = birth("bd-a", 1);
    let mut later = same.clone();
    later.beads.get_mut(&lineage).unwrap().priority.as_mut().unwrap().mark = mark(9, 0, "ben");
    for (delta, listed) in [(same, vec![]), (later, vec!["priority"])] {
        let mut text = json!(delta);
        let body = text["beads"][0]["body"].as_object_mut().unwrap();
        let versions = body.get("_v").and_then(|versions| versions.as_object()).cloned().unwrap_or_default();
        assert_eq!(versions.keys().collect::<Vec<_>>(), listed);
        assert_eq!(serde_json::from_str::<Delta>(&json!(delta).to_string()).unwrap(), delta);
        // Earlier releases wrote the mark of every register.
        let top = json!([body.remove("_at").unwrap(), body.remove("_by").unwrap()]);
        let mark_of = |field: &Field| versions.get(field.name()).cloned().unwrap_or_else(|| top.clone());
        let all: serde_json::Map<_, _> =
            Field::ALL.iter().map(|field| (field.name().to_owned(), mark_of(field))).collect();
        body.insert("_v".into(), all.into());
        assert_eq!(serde_json::from_str::<Delta>(&text.to_string()).unwrap(), delta);
    }
}
