//! Project chores: `cargo xtask <chore>`. A chore is a file with one `run`, and a line in the table below.
#![allow(clippy::print_stdout, reason = "a chore reports on standard output")]

mod arguments;
mod bench;
mod campaign;
mod cargo;
mod claims;
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

/// What a chore is called, what it does and takes, and where it is.
type Chore = (&'static str, &'static str, fn(&Arguments) -> Result<()>);

const CHORES: &[Chore] = &[
    (
        "bench",
        "measure every goal of speed and write bench/REPORT.md: [--runs 200] [--large 100000] [--bd target/release/bd] [--out bench] [--build true] [--peer name=path --dialect go|file]",
        bench::run,
    ),
    (
        "campaign",
        "run all proofs in full and report: [--seeds 20000] [--from 0] [--ops 150] [--cases 100000] [--only PART] [--minutes M] [--release true]",
        campaign::run,
    ),
    ("claims", "measure claim --next: [--workers 50] [--beads 1000] [--bd target/release/bd]", claims::run),
    (
        "fleet",
        "simulate many machines on one remote: [--machines 64] [--seconds 30] [--every 1000] [--rtt 300] [--interval 60000] [--quiet 500] [--max-delay 5000] [--pause 50] [--step 50] [--paced true] [--push-rate 0] [--seed 1]; with --drain 2000 [--work 0] they claim and close that many beads",
        fleet::run,
    ),
    (
        "generate",
        "make a git repository with a store: --dir D [--live 1000] [--total 10000] [--edges 10000] [--seed 1]",
        generate::run,
    ),
    (
        "growth",
        "measure how a repository grows with its history: --dir D [--commits 1000] [--beads 1000]",
        growth::run,
    ),
    ("judge", "say which inputs of JSON tools are valid: lines of {tool, input} on stdin", judge::run),
    (
        "night",
        "run agents on several machines through a night in minutes and report work done twice: [--seconds 300] [--machines 3] [--agents 6] [--scopes local,auto,remote] [--seed 1] [--bd target/release/bd]",
        night::run,
    ),
    ("planted", "plant bugs and see that the suite catches them: [--release false]", planted::run),
    (
        "remote-growth",
        "measure how a remote grows with its pushes, and fail when it has too many files: --dir D [--syncs 2000] [--beads 200] [--seed 1] [--server false] [--autogc true] [--most-files 1000]; a server needs git and python3",
        remote_growth::run,
    ),
    ("schema", "write the JSON Schemas of all outputs: [--dir docs/schema]", schema::run),
    (
        "wire",
        "count the bytes that one changed bead costs on the wire: --dir D [--beads 10000]; needs git",
        wire::run,
    ),
    (
        "soak",
        "clients, kills and syncs for long, on a real store: [--minutes 10] [--clients 4] [--bd target/release/bd]",
        soak::run,
    ),
    ("sim", "run the simulator: [--seeds 1000] [--ops 150] [--from 0] [--claims false]", sim::run),
];

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let asked = given.next().unwrap_or_default();
    let Some((_, _, run)) = CHORES.iter().find(|(name, ..)| *name == asked) else {
        eprintln!("usage: cargo xtask <chore> [options]");
        for (name, about, _) in CHORES {
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
