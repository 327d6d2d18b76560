use beads_core::Timestamp;
use beads_engine::request::Call;

use super::filter::past_time;

/// Archive beads that were closed long ago
///
/// An archived bead is no longer listed, its id stays taken, and a dependency on it counts as closed. The next
/// sync moves its content to branch beads/archive, so that branch beads/store stays small; bd list --archive
/// and bd show read it there, and bd restore brings it back. A bead that another machine changed meanwhile
/// stays. The first archived bead raises the store to format 3, for all machines that share it: earlier
/// releases of bd refuse it from then on.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd archive --closed-before 90d --dry-run\n  bd archive --closed-before 2026-01-01\n  bd list --archive"
)]
pub struct Args {
    /// Archive beads that were closed before this time: a date, a time, or an age such as 90d
    #[arg(long, value_name = "TIME", value_parser = past_time)]
    closed_before: Timestamp,
    /// Show which beads would be archived without changing anything
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub fn call(self) -> Call {
        Call::Archive { closed_before: self.closed_before, dry_run: self.dry_run }
    }
}
