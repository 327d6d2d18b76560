use beads_core::op::Guard;
use beads_core::{Op, Text};
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::guard::GuardArgs;
use super::input::Input;

/// Beads, and a reason that is kept with each.
#[derive(Debug, clap::Args)]
pub struct WithReason {
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Why; kept as a note
    #[arg(long, short = 'r', value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl WithReason {
    /// Does the same to each bead.
    pub fn each(self, input: Input, op: impl Fn(String, Guard, Text) -> Op) -> Result<Call, Failure> {
        let reason: Text = input.optional(self.reason.as_ref())?.unwrap_or_default();
        let guard = self.guard.guard();
        Ok(Call::each(self.ids, |id| op(id, guard.clone(), reason.clone())))
    }
}
