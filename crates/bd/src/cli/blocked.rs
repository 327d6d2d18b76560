use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};

use super::filter::SelectionArgs;

/// List beads that wait for others, and for which
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd blocked --json")]
pub struct Args {
    #[command(flatten)]
    beads: SelectionArgs,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let filter = self.beads.filter();
        if filter.sort != Default::default() {
            return Err(Failure::usage("blocked has one order: by priority, then oldest first"));
        }
        Ok(Call::query(Query::Blocked(filter)))
    }
}
