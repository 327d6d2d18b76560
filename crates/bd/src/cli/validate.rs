use beads_engine::request::Call;

/// Check the store for errors
///
/// Checks every line. Exits with 1 only if there are errors, not for warnings.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd validate --json")]
pub struct Args {}

impl Args {
    pub fn call(self) -> Call {
        Call::Validate
    }
}
