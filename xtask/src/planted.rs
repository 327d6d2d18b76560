//! `cargo xtask planted`: the tests are tested. Each bug on purpose must be caught by what the ordinary run does.

use crate::arguments::{Arguments, Result};
use crate::cargo::Tests;

/// A bug of the daemon, and the test that must not pass with it.
const OF_THE_DAEMON: [(&str, &str); 2] = [
    ("StaleRead", "replies_over_the_socket_are_explained_by_the_order_of_the_journal"),
    ("ReplyBeforeCommit", "killing_the_daemon_loses_nothing"),
];

pub fn run(arguments: &Arguments) -> Result<()> {
    let release = arguments.or("release", false)?;
    println!("bugs that the simulator must see:");
    let simulated =
        Tests { release, features: "beads-sim/planted", binaries: &["planted"], ..Tests::default() };
    Tests { filters: &["--nocapture"], ..simulated }.pass()?;
    let mut missed = Vec::new();
    for (bug, test) in OF_THE_DAEMON {
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
