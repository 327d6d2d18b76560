use crate::request::Call;

/// Save everything to the sync ref
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd sync")]
pub struct Args {}

impl Args {
    pub fn call(self) -> Call {
        Call::Sync
    }
}
