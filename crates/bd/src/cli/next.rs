use std::time::Duration;

use beads_core::Op;
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::claim::{self, LeaseArgs};
use super::filter::FilterArgs;

/// Claim the best ready bead (the same as claim --next)
///
/// Chooses and claims a bead in one step and shows its brief. --sort takes the orders of `bd ready`:
/// priority, oldest, hybrid or impact.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd next\n  bd next --label backend --wait 60s --json",
    mut_arg("sort", |sort| sort.value_name("KEY").help("Choose by priority, oldest, impact or hybrid")),
    mut_arg("reverse", |reverse| reverse.hide(true)),
    mut_arg("limit", |limit| limit.hide(true))
)]
pub struct Args {
    #[command(flatten)]
    pub lease: LeaseArgs,
    /// Wait up to TIME for a bead to become ready
    #[arg(long, value_name = "TIME", value_parser = super::globals::duration)]
    pub wait: Option<Duration>,
    /// Only beads below this one, at any depth
    #[arg(long, value_name = "ID")]
    pub parent: Option<String>,
    /// Claim only if the remote confirms it; without its answer nothing is claimed
    #[arg(long)]
    pub confirm: bool,
    /// If nothing is ready, take a bead whose session has been silent for TIME (at least 1m)
    #[arg(long, value_name = "TIME", value_parser = super::globals::duration)]
    pub steal_silent: Option<Duration>,
    #[command(flatten)]
    pub filter: FilterArgs,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let mut next = claim::next(self.filter.filter(), self.parent, self.lease.ms())?;
        next.steal_silent_ms =
            self.steal_silent.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        Ok(claim::confirmed(Call::one(Op::ClaimNext(Box::new(next))), self.confirm).waiting(self.wait))
    }
}
