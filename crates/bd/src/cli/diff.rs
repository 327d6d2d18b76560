use beads_engine::request::{Call, Moment, Query};

use super::revision::moment;

/// Show which beads changed between two states of the store
///
/// A state is a commit of beads/store (seven or more digits), or a time: RFC 3339, a local date-time, a date,
/// or an age such as 2h.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd diff 2h\n  bd diff 2026-01-01 2026-02-01 --json")]
pub struct Args {
    /// Earlier state
    #[arg(value_name = "A", value_parser = moment)]
    from: Moment,
    /// Later state [default: now]
    #[arg(value_name = "B", value_parser = moment)]
    to: Option<Moment>,
}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Diff { from: self.from, to: self.to })
    }
}
