use beads_core::op::Reopen;
use beads_core::{Op, Status};
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::guard::GuardArgs;
use super::input::Input;

/// Take a closing back
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd reopen bd-a1 --reason \"it came back\"")]
pub struct Args {
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// open or in_progress
    #[arg(long, short = 's', default_value = "open")]
    status: Status,
    /// Why; kept as a note
    #[arg(long, short = 'r', value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let reason: beads_core::Text = input.optional(self.reason.as_ref())?.unwrap_or_default();
        let (status, guard) = (Some(self.status), self.guard.guard());
        let op = |id| Op::Reopen(Reopen { id, guard: guard.clone(), status, reason: reason.clone() });
        Ok(Call::each(self.ids, op))
    }
}
