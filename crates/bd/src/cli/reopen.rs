use beads_core::op::Reopen;
use beads_core::{Op, Status};
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::input::Input;
use super::with_reason::WithReason;

/// Reopen closed beads
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd reopen bd-a1 --reason \"it came back\"")]
pub struct Args {
    /// New status: open or in_progress
    #[arg(long, short = 's', default_value = "open")]
    status: Status,
    #[command(flatten)]
    beads: WithReason,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let status = Some(self.status);
        self.beads.each(input, |id, guard, reason| Op::Reopen(Reopen { id, guard, status, reason }))
    }
}
