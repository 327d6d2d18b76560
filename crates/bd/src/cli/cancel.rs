use beads_core::Op;
use beads_core::op::Cancel;
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::guard::GuardArgs;
use super::input::Input;

/// Close beads that will not be done
///
/// A cancelled bead stays closed until `bd reopen`: a later `bd close` fails and shows the reason. A worker
/// that holds it learns that its claim has ended.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd cancel bd-a1 --reason \"the feature was dropped\"")]
pub struct Args {
    /// Ids of the beads; unambiguous prefixes are enough
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Why it will not be done
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
