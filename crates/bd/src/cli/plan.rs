use beads_core::query::PlanRequest;
use beads_engine::request::{Call, Query};
use beads_engine::service::DEFAULT_MINUTES;

/// Distribute unfinished work over parallel tracks
///
/// Whenever a worker is free, it starts the most urgent unblocked bead. A bead is as urgent as the most
/// urgent bead that waits for it. Estimates are used where there are any. Nothing is claimed or changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd plan --workers 4 --json\n  bd plan --workers 2 --parent bd-a1")]
pub struct Args {
    /// Number of parallel workers
    #[arg(long, short = 'w', value_name = "N", default_value_t = 1)]
    workers: usize,
    /// Time to assume for a bead without an estimate
    #[arg(long, value_name = "MINUTES", default_value_t = DEFAULT_MINUTES,
          value_parser = clap::value_parser!(u64).range(1..=u64::from(beads_core::limits::MAX_ESTIMATE_MINUTES)))]
    default_minutes: u64,
    /// Only descendants of this bead
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Plan(PlanRequest {
            workers: self.workers,
            default_minutes: self.default_minutes,
            under: self.parent,
        }))
    }
}
