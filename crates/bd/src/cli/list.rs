use beads_core::query::ReadyFilter;
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};

use super::filter::SelectionArgs;

/// List beads, all of them unless filtered
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd list --status open --label backend --limit 20\n  bd list --updated-after 2d --sort updated:desc\n  bd list --assignee me --priority high\n  bd list --ready --json"
)]
pub struct Args {
    #[command(flatten)]
    beads: SelectionArgs,
    /// Closed beads too, which is what happens anyway
    #[arg(long)]
    all: bool,
    /// Only what can be worked on now, as bd ready lists it; --parent then means any depth
    #[arg(long, conflicts_with_all = ["tree", "all"])]
    ready: bool,
    /// As text, each bead below its parent
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false")]
    tree: Option<bool>,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        if self.ready {
            let mut filter = self.beads.filter();
            let under = filter.parent.take();
            return Ok(Call::query(Query::Ready(ReadyFilter { filter, under })));
        }
        let filter = self.beads.filter();
        if self.all && !filter.status.is_empty() {
            return Err(Failure::usage("--all and --status contradict each other"));
        }
        Ok(Call::query(if self.tree == Some(true) { Query::Forest(filter) } else { Query::List(filter) }))
    }
}
