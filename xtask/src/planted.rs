//! `cargo xtask planted`: tests the tests. The default test run must catch every planted bug.

use crate::arguments::{Arguments, Result};
use crate::cargo::Tests;

/// Bugs that only real processes show, each with the test that must fail.
const OF_PROCESSES: [(&str, &str); 3] = [
    ("StaleRead", "replies_over_the_socket_are_explained_by_the_order_of_the_journal"),
    ("ReplyBeforeCommit", "killing_the_daemon_loses_nothing"),
    ("TrimBehindLostRef", "nothing_acknowledged_is_lost_when_the_ref_is_moved_behind_a_save"),
];

pub fn run(arguments: &Arguments) -> Result<()> {
    let release = arguments.or("release", false)?;
    println!("bugs that the simulator must catch:");
    let simulated =
        Tests { release, features: "beads-sim/planted", binaries: &["planted"], ..Tests::default() };
    Tests { filters: &["--nocapture"], ..simulated }.pass()?;
    let mut missed = Vec::new();
    for (bug, test) in OF_PROCESSES {
        let tests = Tests {
            release,
            features: "beads/planted",
            binaries: &["cli"],
            filters: &[test],
            environment: &[],
        };
        // The test must pass without the bug; otherwise a failure below would prove nothing.
        tests.pass()?;
        println!("{bug}: {test} must fail now:");
        let environment = [("BD_PLANTED", bug.to_owned())];
        let caught = !Tests { environment: &environment, ..tests }.run()?.success();
        println!("{bug}: {}", if caught { "caught" } else { "NOT CAUGHT" });
        if !caught {
            missed.push(bug);
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("not caught: {missed:?}").into()) }
}
