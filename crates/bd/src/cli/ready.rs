use std::time::Duration;

use beads_core::query::ReadyFilter;
use beads_engine::request::{Call, Query};

use super::fields::FieldsArgs;
use super::filter::FilterArgs;

/// List beads that can be worked on now
///
/// Lists open, unblocked beads and beads whose lease has expired, by priority, then oldest first. --sort
/// impact: by priority, then by the longest chain of beads that wait for it, then by the number of beads it
/// unblocks, then oldest first. --sort oldest: oldest first. --sort hybrid: beads created in the last two
/// days by priority, then the rest, oldest first.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd ready --limit 5 --json\n  bd ready --fields id,title,priority\n  bd ready --wait 60s\n  bd ready --sort impact --explain",
    mut_arg("sort", |sort| sort.value_name("KEY").help("Sort by priority, oldest, impact or hybrid")),
    mut_arg("reverse", |reverse| reverse.hide(true))
)]
pub struct Args {
    #[command(flatten)]
    filter: FilterArgs,
    /// Only descendants of this bead
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Explain why each bead is ready or not
    #[arg(long, conflicts_with_all = ["wait", "fields"])]
    explain: bool,
    /// Wait up to TIME for a bead to become ready
    #[arg(long, value_name = "TIME", value_parser = super::globals::duration)]
    wait: Option<Duration>,
    #[command(flatten)]
    pub(super) fields: FieldsArgs,
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
