use beads_core::op::Close;
use beads_core::{Evidence, Op};
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::claim::{self, LeaseArgs};
use super::guard::GuardArgs;
use super::input::Input;

/// Close finished beads
///
/// Prints the beads that this unblocked. --claim-next also claims the next ready bead, as `bd claim --next`
/// does. Closing a closed bead changes nothing.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd close bd-a1 bd-b2 --reason \"fixed in 1f3a\"\n  bd close bd-a1 --evidence commit:1f3a9c2 --evidence \"cmd:cargo test\"\n  bd close bd-a1 --claim-next --json"
)]
pub struct Args {
    /// Ids of the beads; unambiguous prefixes are enough
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// How it was resolved
    #[arg(long, short = 'r', value_name = "TEXT")]
    reason: Option<String>,
    /// Do not warn if another actor holds it or if blockers or children are open; with --reason, also replace
    /// when, by whom and why an already closed bead was closed
    #[arg(long, short = 'f')]
    force: bool,
    /// Also claim the next ready bead
    #[arg(long)]
    claim_next: bool,
    /// Claim only if the remote confirms it; without its answer nothing is closed or claimed
    #[arg(long, requires = "claim_next")]
    confirm: bool,
    #[command(flatten)]
    lease: LeaseArgs,
    /// Evidence that it is done: commit:SHA, url:URL or cmd:TEXT; repeatable
    #[arg(long, value_name = "KIND:VALUE")]
    evidence: Vec<Evidence>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let reason: beads_core::Text = input.optional(self.reason.as_ref())?.unwrap_or_default();
        let (guard, force, evidence) = (self.guard.guard(), self.force, self.evidence);
        let close = |id| Close {
            id,
            guard: guard.clone(),
            reason: reason.clone(),
            force,
            evidence: evidence.clone(),
            strict: false,
        };
        let lease_ms = self.lease.ms();
        if lease_ms.is_some() && !self.claim_next {
            return Err(Failure::usage("--lease requires --claim-next"));
        }
        if self.claim_next {
            let next = claim::next(Default::default(), None, lease_ms)?;
            let close = self.ids.into_iter().map(close).collect();
            let call = Call::CloseAndClaim { close, next: Box::new(next) };
            return Ok(claim::confirmed(call, self.confirm));
        }
        Ok(Call::each(self.ids, |id| Op::Close(close(id))))
    }
}
