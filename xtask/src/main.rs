//! Project chores. A chore is a file with one `run`, and a line in the table below.

mod sim;

use std::process::ExitCode;

/// What a chore is called, what it does, and where.
type Chore = (&'static str, &'static str, fn(&[String]) -> Result<(), String>);

const CHORES: &[Chore] = &[("sim", "run the simulator: --seeds N --ops M [--from S]", sim::run)];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let asked = arguments.first().map(String::as_str).unwrap_or_default();
    let Some((_, _, run)) = CHORES.iter().find(|(name, ..)| *name == asked) else {
        eprintln!("usage: cargo xtask <chore> [options]");
        for (name, about, _) in CHORES {
            eprintln!("  {name:10} {about}");
        }
        return ExitCode::from(2);
    };
    match run(&arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
