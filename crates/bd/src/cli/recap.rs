use beads_core::Timestamp;
use beads_engine::request::{Call, Query, RecapFormat, RecapQuery};

use super::filter::past_time;

/// Summarise what happened since a time
///
/// Lists what was closed (by whom, how long it took, with which evidence), created, cancelled, reclaimed and
/// lost in conflicts; who did how much; and what waits for a person. Names work that was done twice, the bead
/// that most blocked work waits for and its holder, agents that are dead, hung or quiet, cancellations and
/// handovers that did not arrive, and when the sync failed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd recap\n  bd recap --since yesterday --format md > morning.md\n  bd recap --since 8h --brief"
)]
pub struct Args {
    /// Beginning: an age such as 8h, today, yesterday, a date, a local date-time or RFC 3339
    #[arg(long, short = 's', value_name = "TIME", default_value = "12h", value_parser = past_time)]
    since: Timestamp,
    /// Answer in at most 400 tokens
    #[arg(long, conflicts_with = "format")]
    brief: bool,
    /// Format of the text
    #[arg(long, value_enum, default_value = "text")]
    format: RecapFormat,
}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Recap(RecapQuery { since: self.since, brief: self.brief, format: self.format }))
    }
}
