//! `bd`: see [`beads::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "planted")]
    beads_core::planted::plant_named(&std::env::var("BD_PLANTED").unwrap_or_default());
    beads::cli::run(std::env::args_os())
}
