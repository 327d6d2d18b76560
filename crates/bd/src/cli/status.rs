use beads_engine::request::{Call, Query};

/// The store in numbers, and what is not saved yet
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd status --json")]
pub struct Args {}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Status)
    }
}
