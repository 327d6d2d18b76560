//! A small fleet, in virtual time.

use beads_sim::fleet::{Fleet, Policy, Report};

fn sail(seed: u64) -> Report {
    let policy = Policy { interval_ms: 10_000, ..Policy::default() };
    let fleet =
        Fleet { seed, machines: 5, writing_ms: 6_000, write_every_ms: 1_000, round_trip_ms: 300, policy };
    fleet.sail()
}

#[test]
fn every_write_reaches_every_machine() {
    let report = sail(1);
    assert_eq!(report.missing, 0, "{report:?}");
    assert_eq!(report.remote_ms.len(), 30, "one write a second each");
    assert!(report.pushes_lost > 0, "five machines get in each other's way: {report:?}");
}

#[test]
fn the_same_seed_gives_the_same_voyage() {
    assert_eq!(format!("{:?}", sail(7)), format!("{:?}", sail(7)));
    assert_ne!(format!("{:?}", sail(7)), format!("{:?}", sail(8)));
}
