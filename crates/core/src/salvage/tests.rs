use super::*;
use crate::Stamp;
use crate::op::{Create, DepAdd};
use crate::{Catalog, Clock, Code, Context, Op, Snapshot};

/// Returns three beads: the first blocks the second, and the third is deleted.
fn sample() -> State {
    let mut catalog = Catalog::default();
    let mut clock = Clock::new(Stamp::ZERO, 7);
    let create = |id: &str| {
        let create = Create { id: Some(id.parse().unwrap()), ..Create::titled(id.parse().unwrap()) };
        Op::Create(Box::new(create))
    };
    let (from, to) = ("bd-2".to_owned(), "bd-1".to_owned());
    let edge = Op::DepAdd(DepAdd { from, to, kind: EdgeKind::Blocks });
    let delete = crate::op::Delete { id: "bd-3".into(), ..Default::default() };
    for op in [create("bd-1"), create("bd-2"), create("bd-3"), edge, Op::Delete(delete)] {
        let mut context = Context {
            actor: "ann".parse().unwrap(),
            now_ms: 1_000,
            clock: &mut clock,
            random: &mut || 4,
            branch: Default::default(),
            lease_ms: 1,
        };
        let applied = op.apply(&catalog, &mut context).unwrap();
        catalog.join_delta(&applied.delta).unwrap();
    }
    catalog.state().clone()
}

fn files(snapshot: &Snapshot) -> Vec<(String, Vec<u8>)> {
    snapshot.files().into_iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect()
}

fn salvage(snapshot: &Snapshot) -> (State, Vec<Unreadable>) {
    let mut salvage = Salvage::default();
    salvage.add_files(&files(snapshot)).unwrap();
    salvage.finish()
}

#[test]
fn an_undamaged_snapshot_is_restored_byte_for_byte() {
    let snapshot = sample().encode();
    let (state, unreadable) = salvage(&snapshot);
    assert_eq!(unreadable, []);
    assert_eq!(state.encode(), snapshot);
}

#[test]
fn order_spaces_duplicates_and_checksums_do_not_matter() {
    let snapshot = sample().encode();
    let mut damaged = snapshot.clone();
    let text = String::from_utf8(damaged.state).unwrap();
    let lines: Vec<_> =
        text.lines().rev().chain(text.lines()).map(|line| line.replacen(',', " , ", 1)).collect();
    damaged.state = lines.join("\n").into_bytes();
    let (state, unreadable) = salvage(&damaged);
    assert_eq!(unreadable, []);
    assert_eq!(state.encode(), snapshot);
}

#[test]
fn a_bad_line_is_reported_and_everything_else_is_kept() {
    let mut damaged = sample().encode();
    let end = damaged.state.iter().position(|byte| *byte == b'\n').unwrap();
    damaged.state[end / 2] = 0xff;
    damaged.tombstones.truncate(damaged.tombstones.len() / 2);
    damaged.meta.clear();
    let (state, unreadable) = salvage(&damaged);
    let places: Vec<_> = unreadable.iter().map(|lost| (lost.file.as_str(), lost.line)).collect();
    assert_eq!(places, [(META, Some(1)), (STATE, Some(1)), (TOMBSTONES, Some(1))]);
    assert_eq!(state.names().holders().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["bd-2"]);
    assert_eq!(state.edges().len(), 1, "the edge stays, with a bare end");
    state.encode().decode().expect("the salvaged state is valid");
}

#[test]
fn an_edge_binds_to_a_bead_from_an_older_commit() {
    let snapshot = sample().encode();
    let mut damaged = snapshot.clone();
    damaged.state.clear();
    damaged.tombstones.clear();
    let mut older = snapshot.decode().unwrap().state;
    older.edges = Default::default();
    let mut salvage = Salvage::default();
    salvage.add_files(&files(&damaged)).unwrap();
    salvage.add_state(&older);
    assert_eq!(salvage.finish().0.encode(), snapshot);
}

#[test]
fn conflicts_are_kept_with_their_bead_and_reported_without_it() {
    let mut whole = sample();
    let (lineage, bead) = whole.beads().iter().next().unwrap();
    let (bead, won, lost) =
        (lineage.clone(), bead.title.mark.clone(), Mark::new(Stamp::ZERO, "bob".parse().unwrap()));
    let (field, value) = (crate::Field::Title, "Another title".into());
    whole.join_conflict(&Conflict { bead, field, value, lost, won, dismissed: None });
    let mut snapshot = whole.encode();
    assert_eq!(salvage(&snapshot).0.encode(), snapshot);
    snapshot.state.clear();
    let (state, unreadable) = salvage(&snapshot);
    assert!(state.conflicts().is_empty());
    assert_eq!((unreadable[0].file.as_str(), unreadable[0].line), (CONFLICTS, Some(1)));
}

#[test]
fn records_are_applied_after_their_bead_and_reported_without_it() {
    let whole = sample();
    let (lineage, bead) = whole.beads().iter().next().unwrap();
    let change = Patch { title: Some(bead.title.clone()), ..Patch::default() };
    let change = Delta::of_bead(lineage.clone(), change);

    let mut salvage = Salvage::default();
    salvage.add_delta("journal frame 2", &change);
    salvage.add_delta("journal frame 1", &Delta::of_bead(lineage.clone(), Patch::from(bead.as_ref())));
    let (state, unreadable) = salvage.finish();
    assert_eq!((state.beads().len(), unreadable), (1, vec![]));

    let mut salvage = Salvage::default();
    salvage.add_delta("journal frame 2", &change);
    let (state, unreadable) = salvage.finish();
    assert!(state.beads().is_empty());
    assert_eq!(unreadable[0].file, "journal frame 2");
    assert!(unreadable[0].reason.contains("bd-1"), "{}", unreadable[0].reason);
}

#[test]
fn a_later_format_is_refused() {
    let mut newer = sample().encode();
    newer.meta = br#"{"format_version":99,"something":"new"}"#.to_vec();
    let error = Salvage::default().add_files(&files(&newer)).unwrap_err();
    assert_eq!(error.code(), Code::NewerFormat);
}
