use beads_engine::request::Call;

/// Check the store, line by line
///
/// Exit code 1 only if something is wrong; warnings and notes alone are fine.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd validate --json")]
pub struct Args {}

impl Args {
    pub fn call(self) -> Call {
        Call::Validate
    }
}
