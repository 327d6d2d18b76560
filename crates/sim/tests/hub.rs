//! A hub over a connection that loses, repeats and delays messages, and a fleet on it in virtual time.

use beads_sim::hub::{HubBug, HubDrain, HubFleet, HubScenario, SEEDS, SNAPSHOTS, STEPS, run_seed};

fn expect_ok(seed: u64) -> Vec<String> {
    run_seed(seed, STEPS).unwrap_or_else(|report| panic!("{report}"))
}

#[test]
fn a_bead_has_one_holder_and_nothing_is_lost_on_even_seeds() {
    (0..SEEDS).step_by(2).for_each(|seed| drop(expect_ok(seed)));
}

#[test]
fn a_bead_has_one_holder_and_nothing_is_lost_on_odd_seeds() {
    (1..SEEDS).step_by(2).for_each(|seed| drop(expect_ok(seed)));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    assert_eq!(expect_ok(3), expect_ok(3));
    assert_ne!(expect_ok(3), expect_ok(4));
}

/// The runs above also test snapshots that are written and read in parts, with parts that are lost, repeated and
/// late.
#[test]
fn snapshots_of_several_parts_are_confirmed() {
    let confirmed = (0..SEEDS / 5).map(|seed| {
        let trace = expect_ok(seed);
        let last = trace.last().and_then(|line| line.strip_prefix(SNAPSHOTS));
        last.expect("a count").parse::<u64>().expect("a number")
    });
    let confirmed: u64 = confirmed.sum();
    assert!(confirmed > 10, "{confirmed}");
}

/// Tests the oracle: the default run catches every bug that is planted in the hub.
#[test]
fn every_planted_bug_is_caught() {
    for bug in HubBug::ALL {
        let caught = (0..SEEDS).find_map(|seed| {
            let mut scenario = HubScenario::from_seed(seed, STEPS);
            scenario.bug = Some(bug);
            scenario.run().err().map(|failure| (seed, failure.message))
        });
        let (seed, message) = caught.unwrap_or_else(|| panic!("{bug:?} is not caught"));
        eprintln!("{bug:?}: seed {seed}: {}", message.chars().take(110).collect::<String>());
    }
}

#[test]
fn every_write_is_everywhere_within_five_round_trips() {
    let fleet =
        HubFleet { seed: 1, machines: 8, writing_ms: 5_000, write_every_ms: 1_000, round_trip_ms: 300 };
    let mut report = fleet.run();
    report.everywhere_ms.sort_unstable();
    assert_eq!((report.missing, report.repeated), (0, 0), "{report:?}");
    assert!(report.everywhere_ms.iter().all(|ms| *ms <= 1_500), "{:?}", report.everywhere_ms);
}

#[test]
fn no_bead_is_claimed_twice() {
    let report = HubDrain { seed: 1, machines: 8, beads: 60, round_trip_ms: 300 }.run();
    assert_eq!((report.claim_ms.len(), report.distinct), (60, 60), "{report:?}");
    assert!(report.round_trips <= 78, "{}", report.round_trips);
}
