//! What is derived from a state step by step must equal what is derived from the whole state.

use beads_core::{Catalog, Delta, Encoder, Floor, Snapshot, Stamp, State};
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

proptest! {
    #![proptest_config(cases(1_500))]

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
}
