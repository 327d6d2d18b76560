use std::time::Duration;

use beads_core::query::{ReadyFilter, Sort, SortKey};

use super::filter::FilterArgs;
use crate::failure::Failure;
use crate::request::{Call, Query};

/// List what can be worked on now
///
/// Open and unblocked beads, and those whose holder let the lease run out; by priority, then oldest first. With --sort
/// impact: by priority, then the longest chain of unfinished beads behind it, then how many it unblocks, then oldest.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd ready --limit 5 --json\n  bd ready --wait 60s\n  bd ready --sort impact --explain"
)]
pub struct Args {
    #[command(flatten)]
    filter: FilterArgs,
    /// Only beads below this one, at any depth
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Tell why each bead is ready, and of all others why not
    #[arg(long, conflicts_with = "wait")]
    explain: bool,
    /// If nothing is ready, wait so long for something
    #[arg(long, value_name = "TIME", value_parser = super::globals::duration)]
    wait: Option<Duration>,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let filter = self.filter.filter();
        if !matches!(filter.sort, Sort { by: SortKey::Priority | SortKey::Impact, reverse: false }) {
            return Err(Failure::usage("ready has two orders: priority, then oldest first, or impact"));
        }
        let asked = ReadyFilter { filter, under: self.parent };
        if self.explain {
            return Ok(Call::query(Query::Explain(asked)));
        }
        Ok(Call::query(Query::Ready(asked)).waiting(self.wait))
    }
}
