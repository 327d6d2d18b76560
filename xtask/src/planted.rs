//! `cargo xtask planted`: the tests are tested. Each bug on purpose must be caught by what the ordinary run does.

use crate::arguments::{Arguments, Result};
use crate::cargo::Tests;

/// A bug that real processes show, and the test that must not pass with it.
const OF_PROCESSES: [(&str, &str); 3] = [
    ("StaleRead", "replies_over_the_socket_are_explained_by_the_order_of_the_journal"),
    ("ReplyBeforeCommit", "killing_the_daemon_loses_nothing"),
    ("TrimBehindLostRef", "nothing_acknowledged_is_lost_when_the_ref_is_moved_behind_a_save"),
];

pub fn run(arguments: &Arguments) -> Result<()> {
    let release = arguments.or("release", false)?;
    println!("bugs that the simulator must see:");
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
        // Else a failure below could come from anything.
        tests.pass()?;
        println!("{bug}: now {test} has to fail:");
        let environment = [("BD_PLANTED", bug.to_owned())];
        let caught = !Tests { environment: &environment, ..tests }.run()?.success();
        println!("{bug}: {}", if caught { "caught" } else { "nobody noticed" });
        if !caught {
            missed.push(bug);
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("nobody noticed {missed:?}").into()) }
}
