use beads_core::op::Unclaim;
use beads_core::{Actor, Op, Text};
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::guard::GuardArgs;
use super::input::Input;

/// Release your claim on beads
///
/// --all releases every claim that you hold, or, with --assignee, every claim of another actor, such as an
/// agent that died.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd unclaim bd-a1 --reason \"needs a decision first\"\n  bd unclaim --all\n  bd unclaim --all --assignee ann@mac --force --reason \"that agent died\""
)]
pub struct Args {
    /// Ids of the beads; unambiguous prefixes are enough
    #[arg(required_unless_present = "all", value_name = "ID")]
    ids: Vec<String>,
    /// Release every claim, instead of those on IDs
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// With --all: the claims of NAME; me for yourself
    #[arg(long, short = 'a', value_name = "NAME", requires = "all")]
    assignee: Option<Actor>,
    /// Release another actor's claim (requires --reason)
    #[arg(long, requires = "reason")]
    force: bool,
    /// Reason, kept as a note
    #[arg(long, short = 'r', value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let reason: Text = input.optional(self.reason.as_ref())?.unwrap_or_default();
        let (force, guard) = (self.force, self.guard.guard());
        if self.all {
            if guard != Default::default() {
                return Err(Failure::usage("--if-hash and --fence require an ID"));
            }
            return Ok(Call::UnclaimAll { assignee: self.assignee, force, reason });
        }
        let unclaim = |id| Unclaim { id, guard: guard.clone(), force, reason: reason.clone() };
        Ok(Call::each(self.ids, |id| Op::Unclaim(unclaim(id))))
    }
}
