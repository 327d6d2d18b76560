use beads_engine::request::Call;

/// Print a fingerprint of the state, to compare two replicas
///
/// Replicas that hold the same beads print the same, whatever their history.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd verify --json")]
pub struct Args {}

impl Args {
    pub fn call(self) -> Call {
        Call::Verify
    }
}
