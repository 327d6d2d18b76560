use beads_core::query::{CountBy, Filter};
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};

use super::filter::FilterArgs;

/// Count beads
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  bd count --by-status --label backend",
    mut_arg("sort", |sort| sort.hide(true)),
    mut_arg("reverse", |reverse| reverse.hide(true)),
    mut_arg("limit", |limit| limit.hide(true))
)]
#[group(id = "by", multiple = false)]
pub struct Args {
    #[command(flatten)]
    filter: FilterArgs,
    /// Count by status
    #[arg(long, group = "by")]
    by_status: bool,
    /// Count by type
    #[arg(long, group = "by")]
    by_type: bool,
    /// Count by priority
    #[arg(long, group = "by")]
    by_priority: bool,
    /// Count by assignee
    #[arg(long, group = "by")]
    by_assignee: bool,
    /// Count by label
    #[arg(long, group = "by")]
    by_label: bool,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let by = [
            (self.by_status, CountBy::Status),
            (self.by_type, CountBy::Type),
            (self.by_priority, CountBy::Priority),
            (self.by_assignee, CountBy::Assignee),
            (self.by_label, CountBy::Label),
        ];
        let by = by.into_iter().find(|(asked, _)| *asked).map(|(_, by)| by);
        let filter = self.filter.filter();
        if filter.limit.is_some() || filter.sort != Default::default() {
            return Err(Failure::usage("--sort and --limit cannot be used with bd count"));
        }
        Ok(Call::query(Query::Count { filter: Filter { limit: None, ..filter }, by }))
    }
}
