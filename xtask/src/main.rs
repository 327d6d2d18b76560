//! Developer tasks: `cargo xtask <task>`. A task is a file with one `run` function and a row in the table
//! below.
#![allow(clippy::print_stdout, reason = "tasks report on standard output")]

mod arguments;
mod bench;
mod campaign;
mod cargo;
mod claims;
mod clients;
mod dist;
mod fleet;
mod generate;
mod growth;
mod judge;
mod night;
mod planted;
mod remote_growth;
mod schema;
mod sim;
mod soak;
mod wire;

use std::process::ExitCode;

use arguments::{Arguments, Result};

/// The name of a task, its help, and its function.
type Task = (&'static str, &'static str, fn(&Arguments) -> Result<()>);

const TASKS: &[Task] = &[
    (
        "bench",
        "measure all performance goals and write bench/REPORT.md: [--runs 200] [--large 100000] [--bd target/release/bd] [--out bench] [--build true] [--tests true] [--peer name=path]…; --peer may be repeated",
        bench::run,
    ),
    (
        "campaign",
        "run all test suites at full size and report: [--seeds 20000] [--from 0] [--ops 150] [--cases 100000] [--only PART] [--minutes M] [--release true]",
        campaign::run,
    ),
    ("claims", "measure claim --next: [--workers 50] [--beads 1000] [--bd target/release/bd]", claims::run),
    ("clients", "generate the typed parts of the client libraries: [--dir clients]", clients::run),
    (
        "dist",
        "build a release with its packages: [--out target/dist-out] [--build true] [--cross true] [--binaries target/release] [--cross-binaries DIR] [--prove false] [--url ADDRESS-OF-THE-RELEASES]",
        dist::run,
    ),
    (
        "fleet",
        "simulate many machines on one remote: [--machines 64] [--seconds 30] [--every 1000] [--rtt 300] [--interval 60000] [--quiet 500] [--max-delay 5000] [--pause 50] [--step 50] [--paced true] [--push-rate 0] [--seed 1]; with --drain 2000 [--work 0] the machines claim and close that many beads; with --hub they share a hub",
        fleet::run,
    ),
    (
        "generate",
        "create a git repository with a store: --dir D [--live 1000] [--total 10000] [--edges 10000] [--seed 1]",
        generate::run,
    ),
    (
        "growth",
        "measure how a repository grows with its history: --dir D [--commits 1000] [--beads 1000]",
        growth::run,
    ),
    ("judge", "validate inputs of JSON tools: lines of {tool, input} on stdin", judge::run),
    (
        "night",
        "simulate a night of agents on several machines in minutes and report duplicate work: [--seconds 300] [--machines 3] [--agents 6] [--scopes local,auto,remote] [--seed 1] [--bd target/release/bd]",
        night::run,
    ),
    ("planted", "plant bugs and check that the tests catch them: [--release false]", planted::run),
    (
        "remote-growth",
        "measure how a remote grows with pushes, and fail if it has too many files: --dir D [--syncs 2000] [--beads 200] [--seed 1] [--server false] [--autogc true] [--most-files 1000]; --server true needs git and python3",
        remote_growth::run,
    ),
    ("schema", "write the JSON schemas of all outputs: [--dir docs/schema]", schema::run),
    (
        "wire",
        "count the bytes on the wire for one changed bead: --dir D [--beads 10000]; needs git",
        wire::run,
    ),
    (
        "soak",
        "run clients, kills and syncs on a real store for a long time: [--minutes 10] [--clients 4] [--bd target/release/bd]",
        soak::run,
    ),
    ("sim", "run the simulator: [--seeds 1000] [--ops 150] [--from 0] [--claims false]", sim::run),
];

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let name = given.next().unwrap_or_default();
    let Some((_, _, run)) = TASKS.iter().find(|(task, ..)| *task == name) else {
        eprintln!("usage: cargo xtask <task> [options]");
        for (name, about, _) in TASKS {
            eprintln!("  {name:10} {about}");
        }
        return ExitCode::from(2);
    };
    match Arguments::parse(given).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
