use beads_engine::request::Call;

/// Print a fingerprint of the state, to compare two replicas
///
/// Replicas with the same beads print the same fingerprint, regardless of their history.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd verify --json")]
pub struct Args {}

impl Args {
    pub fn call(self) -> Call {
        Call::Verify
    }
}
