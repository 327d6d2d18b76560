//! `bb`: coordination for agents that share a repository.

use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr().lock());
    ExitCode::from(beads::agent::cli::run(std::env::args_os(), &mut out, &mut err))
}
