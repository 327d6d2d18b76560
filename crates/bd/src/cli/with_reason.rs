use beads_core::op::Guard;
use beads_core::{Op, Text};
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::guard::GuardArgs;
use super::input::Input;

/// Bead ids, and a reason that is recorded on each bead.
#[derive(Debug, clap::Args)]
pub struct WithReason {
    /// Ids of the beads; unambiguous prefixes are enough
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Reason, kept as a note
    #[arg(long, short = 'r', value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl WithReason {
    /// Applies the same operation to each bead.
    pub fn each(self, input: Input, op: impl Fn(String, Guard, Text) -> Op) -> Result<Call, Failure> {
        let reason: Text = input.optional(self.reason.as_ref())?.unwrap_or_default();
        let guard = self.guard.guard();
        Ok(Call::each(self.ids, |id| op(id, guard.clone(), reason.clone())))
    }
}
