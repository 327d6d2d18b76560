use beads_core::Op;
use beads_core::op::Close;

use super::guard::GuardArgs;
use super::input;
use crate::failure::Failure;
use crate::request::Call;

/// Finish beads
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd close bd-a1 bd-b2 --reason \"fixed in 1f3a\"")]
pub struct Args {
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// How it ended
    #[arg(long, short = 'r', value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let reason: beads_core::Text = input::optional(self.reason.as_ref())?.unwrap_or_default();
        let guard = self.guard.guard();
        let op = |id| Op::Close(Close { id, guard: guard.clone(), reason: reason.clone() });
        Ok(Call::each(self.ids, op))
    }
}
