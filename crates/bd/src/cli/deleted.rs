use beads_engine::request::{Call, Query};

/// List deleted beads, by whom and why
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd deleted --json")]
pub struct Args {}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Deleted)
    }
}
