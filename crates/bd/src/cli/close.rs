use beads_core::{Evidence, Op};
use beads_core::op::Close;
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::claim;
use super::guard::GuardArgs;
use super::input::Input;

/// Finish beads
///
/// Says what it unblocked. With --claim-next you also take the next bead, as `bd claim --next` does.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd close bd-a1 bd-b2 --reason \"fixed in 1f3a\"\n  bd close bd-a1 --evidence commit:1f3a9c2 --evidence \"cmd:cargo test\"\n  bd close bd-a1 --claim-next --json"
)]
pub struct Args {
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// How it ended
    #[arg(long, short = 'r', value_name = "TEXT")]
    reason: Option<String>,
    /// Take the next bead that is ready
    #[arg(long)]
    claim_next: bool,
    /// With --claim-next: how long that one is yours [default: the setting claim.lease]
    #[arg(long, value_name = "TIME", requires = "claim_next", value_parser = claim::lease)]
    lease: Option<u64>,
    /// What shows that it is done: commit:SHA, url:URL or cmd:TEXT; repeatable
    #[arg(long, value_name = "KIND:VALUE")]
    evidence: Vec<Evidence>,
    /// Close although another actor holds it, or blockers or children are open; nothing is warned about
    #[arg(long, short = 'f')]
    force: bool,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let reason: beads_core::Text = input.optional(self.reason.as_ref())?.unwrap_or_default();
        let guard = self.guard.guard();
        let force = self.force;
        let evidence = self.evidence;
        let close = |id| Close {
            id,
            guard: guard.clone(),
            reason: reason.clone(),
            force,
            evidence: evidence.clone(),
            strict: false,
        };
        if self.claim_next {
            let next = claim::next(Default::default(), None, self.lease)?;
            return Ok(Call::CloseAndClaim {
                close: self.ids.into_iter().map(close).collect(),
                next: Box::new(next),
            });
        }
        Ok(Call::each(self.ids, |id| Op::Close(close(id))))
    }
}
