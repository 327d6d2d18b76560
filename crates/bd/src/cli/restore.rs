use beads_core::Op;
use beads_core::op::Restore;
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::guard::GuardArgs;
use super::input::Input;

/// Bring deleted beads back, with everything they had
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd restore bd-a1")]
pub struct Args {
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Why; kept as a note
    #[arg(long, short = 'r', value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let reason: beads_core::Text = input.optional(self.reason.as_ref())?.unwrap_or_default();
        let guard = self.guard.guard();
        let op = |id| Op::Restore(Restore { id, guard: guard.clone(), reason: reason.clone() });
        Ok(Call::each(self.ids, op))
    }
}
