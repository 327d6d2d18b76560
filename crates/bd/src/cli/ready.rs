use std::time::Duration;

use beads_core::query::ReadyFilter;
use beads_engine::request::{Call, Query};

use super::filter::FilterArgs;

/// List what can be worked on now
///
/// Open and unblocked beads, and those whose holder let the lease run out; by priority, then oldest first. With --sort
/// impact: by priority, then the longest chain of unfinished beads behind it, then how many it unblocks, then oldest.
/// With --sort oldest: oldest first. With --sort hybrid: what was made in the last two days by priority, then the rest,
/// oldest first.
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
    pub fn call(self) -> Call {
        let asked = ReadyFilter { filter: self.filter.filter(), under: self.parent };
        if self.explain {
            return Call::query(Query::Explain(asked));
        }
        Call::query(Query::Ready(asked)).waiting(self.wait)
    }
}
