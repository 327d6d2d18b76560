use beads_core::Op;
use beads_core::op::Delete;
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Mutate};

use super::guard::GuardArgs;
use super::input::Input;

/// Delete beads (they can be restored)
///
/// Deleted beads are hidden but stay in the store; `bd restore` brings them back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd delete bd-a1 --reason duplicate")]
pub struct Args {
    /// Ids of the beads; unambiguous prefixes are enough
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Reason
    #[arg(long, short = 'r', value_name = "TEXT")]
    reason: Option<String>,
    /// Show what would be deleted without deleting it
    #[arg(long)]
    dry_run: bool,
    /// Accepted for compatibility; there is never a preview without --dry-run
    #[arg(long = "force")]
    _force: bool,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let reason: beads_core::Text = input.optional(self.reason.as_ref())?.unwrap_or_default();
        let guard = self.guard.guard();
        let op = |id| Op::Delete(Delete { id, guard: guard.clone(), reason: reason.clone() });
        Ok(Call::Mutate(Mutate {
            ops: self.ids.into_iter().map(op).collect(),
            many: true,
            dry_run: self.dry_run,
        }))
    }
}
