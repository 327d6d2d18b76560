//! `cargo xtask campaign`: runs at full size what `cargo test` runs at a tenth.

use std::time::{Duration, Instant};

use crate::arguments::{Arguments, Result};
use crate::cargo::Tests;
use crate::{planted, sim};

/// The name of a part, what it covers, and its function.
type Part = (&'static str, &'static str, fn(&Arguments, bool) -> Result<()>);

const PARTS: &[Part] = &[
    ("simulation", "replicas, faults and clocks by seed", |arguments, _| {
        sim::run_campaign(arguments, 20_000)
    }),
    ("journal", "200 records cut and flipped at every byte", |_, release| {
        Tests { release, binaries: &["journal", "damage"], ..Tests::default() }.pass()
    }),
    ("failing-io", "every IO operation and every system call of git fails; a full disk", |_, release| {
        Tests { release, binaries: &["io_faults"], ..Tests::default() }.pass()?;
        let filters = ["--ignored", "--nocapture"];
        Tests { release, binaries: &["failing_calls"], filters: &filters, ..Tests::default() }.pass()?;
        Tests { release, binaries: &["cli"], filters: &["full_disk"], ..Tests::default() }.pass()
    }),
    ("kills", "500 kills of daemons under 20 clients, 1,500 of commands, and of syncs", |_, release| {
        let filters = ["--ignored", "killing_"];
        Tests { release, binaries: &["cli"], filters: &filters, ..Tests::default() }.pass()
    }),
    ("linearizability", "50 clients with 200 operations each", |_, release| {
        let filters = ["--ignored", "replies_over_the_socket"];
        Tests { release, binaries: &["cli"], filters: &filters, ..Tests::default() }.pass()
    }),
    ("fuzzing", "mutated inputs of every kind", |arguments, release| {
        let cases = arguments.or("cases", 100_000_u64)?.to_string();
        let environment = [("BD_FUZZ_CASES", cases)];
        Tests { release, binaries: &["bounded"], environment: &environment, ..Tests::default() }.pass()
    }),
    ("property", "random input for every tool and portal", |arguments, release| {
        let environment = [("BD_PROPERTY_CASES", arguments.or("property-cases", 10_000_u64)?.to_string())];
        let filters = ["property"];
        Tests {
            release,
            binaries: &["cli"],
            filters: &filters,
            environment: &environment,
            ..Tests::default()
        }
        .pass()
    }),
    ("surroundings", "other users, many clients, planted links, escapes, secrets", |_, release| {
        let filters = ["hostile_environment", "unusual_environment", "canary", "terminal", "protocol"];
        Tests { release, binaries: &["cli"], filters: &filters, ..Tests::default() }.pass()
    }),
    ("planted", "planted bugs are caught", |arguments, _| planted::run(arguments)),
];

pub fn run(arguments: &Arguments) -> Result<()> {
    let release = arguments.or("release", true)?;
    let only: String = arguments.or("only", String::new())?;
    let bound = Duration::from_secs(arguments.or("minutes", 24 * 60_u64)? * 60);
    let started = Instant::now();
    let (mut report, mut failed) = (Vec::new(), false);
    for (name, about, part) in PARTS.iter().filter(|(name, ..)| only.is_empty() || *name == only) {
        if started.elapsed() > bound {
            report.push(format!("{name:16} not started: out of time"));
            failed = true;
            continue;
        }
        println!("\n== {name}: {about}");
        let begun = Instant::now();
        let outcome = part(arguments, release);
        let seconds = begun.elapsed().as_secs();
        failed |= outcome.is_err();
        report.push(match outcome {
            Ok(()) => format!("{name:16} passed in {seconds} s: {about}"),
            Err(error) => format!("{name:16} FAILED after {seconds} s: {error}"),
        });
    }
    println!("\n== report, after {} s", started.elapsed().as_secs());
    report.iter().for_each(|line| println!("{line}"));
    if failed { Err("the campaign failed".into()) } else { Ok(()) }
}
