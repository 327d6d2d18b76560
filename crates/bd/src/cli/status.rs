use beads_engine::request::{Call, Query};

/// Show counts and the sync state of the store
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd status --json")]
pub struct Args {}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Status)
    }
}
