use beads_core::op::HandOver;
use beads_core::{Actor, Op};
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::claim;
use super::guard::GuardArgs;
use super::input::Input;

/// Hand over a bead you hold to another agent
///
/// The other agent's `bd claim --next` takes it first and shows the message in the brief. If the agent does
/// not take it in time, the bead becomes ready for everyone.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  bd handover bd-a1 --to agent-2 --within 30m -m \"the parser is done, the tests are not\""
)]
pub struct Args {
    /// Id of the bead; an unambiguous prefix is enough
    #[arg(value_name = "ID")]
    id: String,
    /// Agent to hand it to
    #[arg(long, value_name = "NAME")]
    to: Actor,
    /// How long the offer is valid [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = claim::lease)]
    within: Option<u64>,
    /// Message for the next agent, kept as a note
    #[arg(long, short = 'm', value_name = "TEXT", visible_alias = "reason")]
    message: Option<String>,
    /// Hand over a bead that another actor holds (requires --message)
    #[arg(long, requires = "message")]
    force: bool,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let text: beads_core::Text = input.optional(self.message.as_ref())?.unwrap_or_default();
        let (guard, to, force, within_ms) = (self.guard.guard(), self.to, self.force, self.within);
        Ok(Call::each(vec![self.id], |id| {
            let (guard, to, text) = (guard.clone(), to.clone(), text.clone());
            Op::HandOver(Box::new(HandOver { id, guard, to, within_ms, text, force }))
        }))
    }
}
