use beads_core::query::Filter;
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};

use super::filter::FilterArgs;

/// List beads that wait for others, and for which
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd blocked --json")]
pub struct Args {
    #[command(flatten)]
    filter: FilterArgs,
    /// Direct children of this bead
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let filter = Filter { parent: self.parent, ..self.filter.filter() };
        if filter.sort != Default::default() {
            return Err(Failure::usage("blocked has one order: by priority, then oldest first"));
        }
        Ok(Call::query(Query::Blocked(filter)))
    }
}
