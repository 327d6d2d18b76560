use std::time::Duration;

use beads_core::query::ReadyFilter;

use super::filter::FilterArgs;
use crate::failure::Failure;
use crate::request::{Call, Query};

/// List what can be worked on now
///
/// Open and unblocked beads, and those whose holder let the lease run out; by priority, then oldest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd ready --limit 5 --json\n  bd ready --wait 60s")]
pub struct Args {
    #[command(flatten)]
    filter: FilterArgs,
    /// Only beads below this one, at any depth
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// If nothing is ready, wait so long for something
    #[arg(long, value_name = "TIME", value_parser = super::globals::duration)]
    wait: Option<Duration>,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let filter = self.filter.filter();
        if filter.sort != Default::default() {
            return Err(Failure::usage("ready has one order: by priority, then oldest first"));
        }
        Ok(Call::query(Query::Ready(ReadyFilter { filter, under: self.parent })).waiting(self.wait))
    }
}
