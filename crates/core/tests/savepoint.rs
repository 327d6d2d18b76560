//! Rolling back leaves no trace, whatever the deltas were and however many were joined at once.

use beads_core::{Catalog, Delta};
use proptest::prelude::*;

use crate::support::history::history;
use crate::support::world::World;
use crate::support::{assert_same, cases, decode};

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn rolling_back_restores_the_catalog(
        history in history(6..24),
        start in any::<prop::sample::Index>(),
        at_once in 1..30_usize,
    ) {
        let world = World::play(&history);
        let before = Catalog::from(decode(start.get(&world.sent)));
        let deltas: Vec<_> = world.deltas().cloned().collect();
        let parts: Vec<_> = deltas.chunks(at_once).map(|parts| {
            let mut delta = Delta::default();
            parts.iter().for_each(|part| delta.join(part));
            delta
        }).collect();
        let mut catalog = before.clone();
        let mut savepoints = Vec::new();
        for delta in &parts {
            let savepoint = catalog.savepoint(delta);
            if catalog.join_delta(delta).is_ok() {
                savepoints.push(savepoint);
            }
        }
        savepoints.into_iter().rev().for_each(|savepoint| catalog.roll_back(savepoint));
        prop_assert!(catalog == before, "the catalog differs");
        prop_assert_eq!(catalog.state().names(), before.state().names());
        // No hidden difference shows up later either.
        let mut untouched = before;
        for delta in &parts {
            prop_assert_eq!(catalog.join_delta(delta).is_ok(), untouched.join_delta(delta).is_ok());
        }
        assert_same("joined again", &catalog.state().encode(), &untouched.state().encode());
    }
}
