//! `bd`: see [`beads::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    beads::cli::run(std::env::args_os())
}
