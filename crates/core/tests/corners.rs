//! Checks that random histories cover every corner case; otherwise the tests that use them would prove
//! little.

use std::collections::BTreeMap;

use beads_core::{Endpoint, Field, State};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::support::cases;
use crate::support::history::history;
use crate::support::world::World;

#[test]
fn random_histories_reach_every_corner() {
    let mut runner = TestRunner::new(cases(1));
    let mut seen = BTreeMap::new();
    for _ in 0..500 {
        let history = history(6..30).new_tree(&mut runner).unwrap().current();
        let mut world = World::play(&history);
        let bare = world.sent.iter().any(|files| has_bare_edge(&crate::support::decode(files)));
        *seen.entry("bare edge").or_insert(0) += usize::from(bare);
        let hollow = |state: &State| state.beads().values().any(beads_core::SharedBead::is_hollow);
        let reached = world.replicas.iter().any(|replica| hollow(&replica.state));
        *seen.entry("archived without its content").or_insert(0) += usize::from(reached);
        world.converge();
        for (corner, reached) in corners(&world.replicas[0].state) {
            *seen.entry(corner).or_insert(0) += usize::from(reached);
        }
        *seen.entry("equal stamps, different values").or_insert(0) += usize::from(world.oracle.has_ties());
        *seen.entry("overruled deletion").or_insert(0) += usize::from(world.oracle.has_overruled_deletion());
    }
    println!("of 500 histories: {seen:#?}");
    for (corner, count) in seen {
        assert!(count >= 3, "only {count} of 500 histories reach: {corner}");
    }
}

fn corners(state: &State) -> Vec<(&'static str, bool)> {
    let names = state.names();
    let births: Vec<_> = state.beads().keys().map(beads_core::Lineage::birth_id).collect();
    let most = births.iter().map(|id| births.iter().filter(|other| other == &id).count()).max().unwrap_or(0);
    let lost =
        |end: &Endpoint| end.lineage().is_some_and(|lineage| names.id_of(lineage) != lineage.birth_id());
    let deps = String::from_utf8(state.encode().deps).unwrap();
    let beads = || state.beads().values();
    let derived_met_birth =
        names.vacated().iter().any(|(id, lost)| lost.iter().any(|lineage| lineage.birth_id() != id));
    vec![
        ("archived with its content", beads().any(|bead| bead.is_archived() && !bead.is_hollow())),
        ("two-way collision", most == 2),
        ("three-way collision", most >= 3),
        ("collision of children", names.vacated().keys().any(|id| id.as_str().contains('.'))),
        ("derived id was a birth id", derived_met_birth),
        (
            "winner deleted",
            names
                .vacated()
                .keys()
                .any(|id| !state.bead(names.holder(id.as_str()).unwrap()).unwrap().is_live()),
        ),
        ("edge of a loser", state.edges().keys().any(|key| lost(&key.from) || lost(&key.to))),
        ("edge added again", deps.contains("\"_at\"")),
        ("edge removed", deps.contains("deleted_at")),
        ("tombstone", beads().any(|bead| !bead.is_live())),
        ("renewal", beads().any(|bead| bead.claim.expires_mark > bead.claim.mark)),
        ("renewal older than its claim", beads().any(|bead| bead.claim.expires_mark < bead.claim.mark)),
        (
            "renewal after the deletion",
            beads().any(|bead| {
                bead.deletion.as_ref().is_some_and(|deletion| bead.claim.expires_mark > deletion.mark)
            }),
        ),
        (
            "every field with a different mark",
            beads().any(|bead| {
                Field::ALL.iter().filter(|field| bead.mark(**field) != bead.top_mark()).count() > 13
            }),
        ),
        ("note newer than every register", beads().any(|bead| bead.updated() > *bead.top_mark())),
        ("two notes", beads().any(|bead| bead.notes.len() > 1)),
        ("chosen prefix", state.prefix().mark.is_some()),
    ]
}

fn has_bare_edge(state: &State) -> bool {
    state.edges().keys().any(|key| key.from.lineage().is_none() || key.to.lineage().is_none())
}
