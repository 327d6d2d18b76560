use beads_core::Op;
use beads_core::op::Unclaim;
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::input::Input;
use super::with_reason::WithReason;

/// Give a bead back
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd unclaim bd-a1 --reason \"needs a decision first\"")]
pub struct Args {
    /// Take it out of somebody else's hands; say why
    #[arg(long, requires = "reason")]
    force: bool,
    #[command(flatten)]
    beads: WithReason,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let force = self.force;
        self.beads.each(input, |id, guard, reason| Op::Unclaim(Unclaim { id, guard, force, reason }))
    }
}
