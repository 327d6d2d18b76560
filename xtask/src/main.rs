//! Project chores: `cargo xtask <chore>`.
#![allow(clippy::print_stdout, reason = "a chore reports on standard output")]

mod arguments;
mod generate;
mod ratios;

use std::process::ExitCode;

use arguments::Arguments;

const USAGE: &str = "\
cargo xtask generate --dir D [--live 1000] [--total 10000] [--edges 10000] [--seed 1]
    make a git repository with a store of that size
cargo xtask ratios --dir D [--runs 200] [--bd target/release/bd]
    time commands answered by a warm daemon against /bin/true
";

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let chore = given.next().unwrap_or_default();
    let done = Arguments::parse(given).and_then(|arguments| match chore.as_str() {
        "generate" => generate::run(&arguments),
        "ratios" => ratios::run(&arguments),
        _ => Err(USAGE.into()),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
