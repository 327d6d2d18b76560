//! A small fleet, in virtual time.

use beads_sim::drain::{Drain, DrainReport};
use beads_sim::fleet::{Fleet, Policy, Report};

fn run_fleet(seed: u64) -> Report {
    let policy = Policy { interval_ms: 10_000, ..Policy::default() };
    let fleet =
        Fleet { seed, machines: 5, writing_ms: 6_000, write_every_ms: 1_000, round_trip_ms: 300, policy };
    fleet.run()
}

#[test]
fn every_write_reaches_every_machine() {
    let report = run_fleet(1);
    assert_eq!(report.missing, 0, "{report:?}");
    assert_eq!(report.remote_ms.len(), 30, "one write per second and machine");
    assert!(report.pushes_lost > 0, "five machines lose some races: {report:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    assert_eq!(format!("{:?}", run_fleet(7)), format!("{:?}", run_fleet(7)));
    assert_ne!(format!("{:?}", run_fleet(7)), format!("{:?}", run_fleet(8)));
}

fn drain(seed: u64) -> DrainReport {
    let policy = Policy::default();
    Drain { seed, machines: 4, beads: 40, work_ms: 500, round_trip_ms: 300, policy }.run()
}

#[test]
fn no_bead_is_claimed_twice() {
    let report = drain(1);
    assert_eq!((report.claim_ms.len(), report.double), (40, 0), "{report:?}");
    assert!(report.tries < 60, "the machines try different beads: {report:?}");
    assert_eq!(format!("{:?}", drain(2)), format!("{:?}", drain(2)));
}

#[test]
fn a_push_budget_reduces_pushes_and_loses_no_write() {
    let writes = |push_rate| {
        let policy = Policy { interval_ms: 10_000, push_rate, ..Policy::default() };
        Fleet { seed: 3, machines: 3, writing_ms: 60_000, write_every_ms: 2_000, round_trip_ms: 300, policy }
            .run()
    };
    let (unlimited, limited) = (writes(None), writes(Some(6)));
    assert_eq!((unlimited.missing, limited.missing), (0, 0));
    assert!(
        limited.pushes_won * 2 < unlimited.pushes_won,
        "{} and {}",
        limited.pushes_won,
        unlimited.pushes_won
    );
}
