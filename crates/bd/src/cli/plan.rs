use beads_core::query::PlanFor;
use beads_engine::request::{Call, Query};
use beads_engine::service::DEFAULT_MINUTES;

/// Deal unfinished work out to parallel tracks
///
/// Whenever a worker is free, the most urgent bead that waits for nothing is started; a bead is as urgent as the most
/// urgent one that waits for it. Estimates count where there are any. Nothing is claimed or changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd plan --workers 4 --json\n  bd plan --workers 2 --parent bd-a1")]
pub struct Args {
    /// How many work at the same time
    #[arg(long, short = 'w', value_name = "N", default_value_t = 1)]
    workers: usize,
    /// How long a bead without an estimate is taken to last
    #[arg(long, value_name = "MINUTES", default_value_t = DEFAULT_MINUTES,
          value_parser = clap::value_parser!(u64).range(1..=u64::from(beads_core::limits::MAX_ESTIMATE_MINUTES)))]
    default_minutes: u64,
    /// Only beads below this one, at any depth
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Plan(PlanFor {
            workers: self.workers,
            default_minutes: self.default_minutes,
            under: self.parent,
        }))
    }
}
