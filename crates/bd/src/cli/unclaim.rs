use beads_core::Op;
use beads_core::op::Unclaim;
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::guard::GuardArgs;
use super::input::Input;

/// Give a bead back
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd unclaim bd-a1 --reason \"needs a decision first\"")]
pub struct Args {
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Take it out of somebody else's hands; say why
    #[arg(long, requires = "reason")]
    force: bool,
    /// Why; kept as a note
    #[arg(long, short = 'r', value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let reason: beads_core::Text = input.optional(self.reason.as_ref())?.unwrap_or_default();
        let (force, guard) = (self.force, self.guard.guard());
        let op = |id| Op::Unclaim(Unclaim { id, guard: guard.clone(), force, reason: reason.clone() });
        Ok(Call::each(self.ids, op))
    }
}
