use beads_engine::request::{Call, Query};

/// List the questions that wait for an answer, oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd questions\n  bd questions --json")]
pub struct Args {}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Questions)
    }
}
