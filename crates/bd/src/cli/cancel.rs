use beads_core::Op;
use beads_core::op::Cancel;
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::guard::GuardArgs;
use super::input::Input;

/// Close beads that are not to be done
///
/// Final until `bd reopen`: a worker that closes such a bead later is refused, and reads the reason. A worker that holds it
/// learns that its claim is over.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd cancel bd-a1 --reason \"the feature was dropped\"")]
pub struct Args {
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Why it is not to be done
    #[arg(long, short = 'r', value_name = "TEXT", required = true)]
    reason: String,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let reason: beads_core::Text = input.optional(Some(&self.reason))?.unwrap_or_default();
        let guard = self.guard.guard();
        Ok(Call::each(self.ids, |id| Op::Cancel(Cancel { id, guard: guard.clone(), reason: reason.clone() })))
    }
}
