//! What is derived from a state step by step must equal what is derived from the whole state.

use std::collections::BTreeSet;

use beads_core::query::{Filter, ReadyFilter};
use beads_core::{
    BeadType, Catalog, Delta, EdgeKind, Encoder, Floor, Lineage, Snapshot, Stamp, State, Status,
};
use proptest::prelude::*;

use crate::support::history::{History, history};
use crate::support::world::{Event, World};
use crate::support::{assert_same, cases, decode};

/// Calls `check` with the catalog of the first replica after each event of a history, after garbage
/// collection, and after a return to an earlier state.
fn replay(history: &History, mut check: impl FnMut(&Catalog)) {
    let mut world = World::play(history);
    world.converge();
    let mut catalog = Catalog::default();
    let mut halfway = None;
    for (index, event) in world.events.iter().enumerate() {
        match event {
            Event::Written { on: 0, delta } => {
                catalog.join_delta(delta).unwrap();
            }
            Event::Pulled { into: 0, files, .. } => {
                catalog.join(&decode(files));
            }
            Event::Stripped { on: 0, archive } => {
                catalog.hollow_out(archive);
            }
            _ => continue,
        }
        if index * 2 > world.events.len() {
            halfway.get_or_insert_with(|| catalog.clone());
        }
        check(&catalog);
    }
    let stamp = Stamp::decode(1_000, 0).unwrap();
    let collect = Delta { gc_floor: Some(Floor { epoch: 1, stamp }), ..Delta::default() };
    catalog.join_delta(&collect).unwrap();
    check(&catalog);
    check(&halfway.unwrap_or_default());
    check(&Catalog::default());
}

/// Returns whether a bead can be reached from itself.
fn is_in_cycle(catalog: &Catalog, lineage: &Lineage, kind: EdgeKind) -> bool {
    let (mut seen, mut frontier) = (BTreeSet::new(), vec![lineage]);
    while let Some(here) = frontier.pop() {
        for next in catalog.targets(here, kind).filter(|next| catalog.live_bead(next).is_some()) {
            if next == lineage {
                return true;
            }
            if seen.insert(next) {
                frontier.push(next);
            }
        }
    }
    false
}

proptest! {
    #![proptest_config(cases(1_500))]

    /// The counts and cycles are computed in other ways than the lists, because screens ask for them all the time.
    #[test]
    fn counts_and_cycles_are_those_of_the_lists(history in history(6..40), now_ms in 0..2_000_u64) {
        replay(&history, |catalog| {
            let summary = catalog.summary(now_ms).unwrap();
            let ready = catalog.ready(&ReadyFilter::default(), now_ms).unwrap();
            let is_free = |lineage| catalog.live_bead(lineage).unwrap().claim.holder(now_ms).is_none();
            let ready = ready.iter().filter(|one| one.open_children.is_none() && is_free(&one.lineage));
            assert_eq!(summary.ready_issues, ready.count());
            assert_eq!(summary.blocked_issues, catalog.blocked(&Filter::default()).unwrap().len());
            let finished = catalog.epics().iter().filter(|epic| epic.eligible_for_close).count();
            assert_eq!(summary.epics_eligible_for_closure, finished);
            let is_epic = |one: &&Lineage| {
                let bead = catalog.live_bead(one).unwrap();
                bead.kind.value.kind == BeadType::Epic && bead.status.value.status != Status::Closed
            };
            let epics: Vec<_> = catalog.live().map(|(lineage, _)| lineage).filter(is_epic).cloned().collect();
            assert_eq!(catalog.epics().into_iter().map(|epic| epic.lineage).collect::<Vec<_>>(), epics);
            let by_age: BTreeSet<_> = catalog.by_age().map(|(lineage, _)| lineage).collect();
            assert_eq!(by_age, catalog.live().map(|(lineage, _)| lineage).collect());
            for kind in EdgeKind::ALL.into_iter().filter(|kind| kind.is_acyclic()) {
                let all = catalog.cycles();
                let found: BTreeSet<_> = all.iter().filter(|one| one.0 == kind).flat_map(|one| &one.1).collect();
                let expected = by_age.iter().copied().filter(|one| is_in_cycle(catalog, one, kind)).collect();
                assert_eq!(found, expected, "{kind:?}");
            }
        });
    }

    #[test]
    fn an_encoder_returns_the_same_files_as_encoding_the_whole_state(
        history in history(6..40),
        habits in proptest::collection::vec(0..4_u8, 1..20),
    ) {
        let mut encoder = Encoder::default();
        let mut held: Option<Snapshot> = None;
        let mut habits = habits.into_iter().cycle();
        replay(&history, |catalog| {
            let files = encoder.encode(catalog.state(), held.as_ref());
            assert_same("encoded step by step", &files, &catalog.state().encode());
            match habits.next().unwrap() {
                0 => held = None,
                1 => held = Some(files),
                2 => encoder.give_back(files),
                // Files that the encoder did not return last are ignored.
                _ => encoder.give_back(State::default().encode()),
            }
        });
    }

    #[test]
    fn every_view_that_differs_is_reported(history in history(6..40), lag in 1..4_usize) {
        let mut seen: Vec<Catalog> = Vec::new();
        replay(&history, |catalog| {
            let base = seen.len().checked_sub(lag).map(|index| seen[index].clone()).unwrap_or_default();
            if let Some(changed) = catalog.views_changed_since(base.state()) {
                let all = catalog.state().beads().keys().chain(base.state().beads().keys());
                for lineage in all.filter(|lineage| !changed.contains(*lineage)) {
                    assert_eq!(catalog.view(lineage), base.view(lineage), "{lineage:?} is not reported");
                }
            }
            seen.push(catalog.clone());
        });
    }

    /// Copies of one state, earlier and later ones, and one that came about separately.
    #[test]
    fn following_a_copy_is_the_same_as_indexing_it(
        history in history(6..40),
        jumps in proptest::collection::vec(any::<prop::sample::Index>(), 1..20),
    ) {
        let mut seen: Vec<State> = Vec::new();
        let mut reader = Catalog::default();
        let mut jumps = jumps.into_iter().cycle();
        replay(&history, |catalog| {
            seen.push(catalog.state().clone());
            for state in [catalog.state(), jumps.next().unwrap().get(&seen)] {
                reader.follow(state.clone());
                assert!(reader == Catalog::from(state.clone()), "the indexes differ");
                assert_eq!(reader.state().names(), state.names());
            }
        });
        let apart = decode(&reader.state().encode());
        reader.follow(apart.clone());
        prop_assert!(reader == Catalog::from(apart));
    }
}
