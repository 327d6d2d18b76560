use beads_core::query::{Filter, ReadyFilter, SortKey};
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Format, Query};

use super::fields::FieldsArgs;
use super::filter::SelectionArgs;
use super::globals::Globals;

/// List beads
///
/// As text, lists unfinished beads. Closed beads are included with --all, --status, --id, --closed-after,
/// --closed-before and --sort closed. With --json, all beads are listed unless a filter is given.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd list\n  bd list --status open --label backend --limit 20\n  bd list --updated-after 2d --sort updated:desc\n  bd list --assignee me --priority high\n  bd list --ready --json\n  bd list --overdue --sort due\n  bd list --archive --label backend\n  bd list --fields id,title,status"
)]
pub struct Args {
    #[command(flatten)]
    beads: SelectionArgs,
    /// Include closed beads (the default with --json)
    #[arg(long)]
    all: bool,
    /// Only ready beads, as bd ready lists them; --parent then includes all descendants
    #[arg(long, conflicts_with_all = ["tree", "all"])]
    ready: bool,
    /// Only archived beads (bd archive)
    #[arg(long, conflicts_with_all = ["ready", "tree", "all"])]
    archive: bool,
    /// Show each bead below its parent
    #[arg(long, conflicts_with = "fields", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false")]
    tree: Option<bool>,
    #[command(flatten)]
    pub(super) fields: FieldsArgs,
}

impl Args {
    pub fn call(self, globals: &Globals) -> Result<Call, Failure> {
        if self.ready {
            let mut filter = self.beads.filter();
            let under = filter.parent.take();
            return Ok(Call::query(Query::Ready(ReadyFilter { filter, under })));
        }
        if self.archive {
            return Ok(Call::query(Query::Archived(self.beads.filter())));
        }
        let wants_every_status = self.all || self.beads.wants_every_status();
        let mut filter = self.beads.filter();
        if self.all && !filter.status.is_empty() {
            return Err(Failure::usage("--all cannot be used with --status"));
        }
        let is_text = globals.format() == Format::Text;
        filter.hide_closed = is_text && !wants_every_status && !asks_for_closed(&filter);
        Ok(Call::query(if self.tree == Some(true) { Query::Forest(filter) } else { Query::List(filter) }))
    }
}

/// Returns whether a filter says by itself whether closed beads are wanted.
fn asks_for_closed(filter: &Filter) -> bool {
    !filter.status.is_empty()
        || filter.ids.is_some()
        || filter.closed_after.is_some()
        || filter.closed_before.is_some()
        || filter.sort.by == SortKey::Closed
}
