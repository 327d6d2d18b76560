use beads_core::Op;
use beads_core::op::Restore;
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::input::Input;
use super::with_reason::WithReason;

/// Restore deleted or archived beads
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd restore bd-a1")]
pub struct Args {
    #[command(flatten)]
    beads: WithReason,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        self.beads.each(input, |id, guard, reason| Op::Restore(Restore { id, guard, reason }))
    }
}
