use std::time::Duration;

use beads_core::Op;
use beads_core::op::{ClaimBead, ClaimNext};
use beads_core::query::{Filter, ReadyFilter};
use beads_engine::config::parse_duration;
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::filter::FilterArgs;
use super::guard::GuardArgs;

/// Take a bead, so that nobody else does
///
/// With --next the best bead that is ready is chosen and taken in one step, and its brief comes along. A claim is a
/// lease: it runs out unless you renew it, by `bd renew` or by any change you make to the bead. --sort takes the orders of
/// `bd ready`: priority, oldest, hybrid or impact.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd claim bd-a1 --lease 4h\n  bd claim --next --label backend --wait 60s --json\n  bd claim --next --sort impact\n  bd claim bd-a1 --confirm\n  bd claim bd-a1 --take-over\n  bd claim --mine"
)]
pub struct Args {
    #[arg(value_name = "ID", required_unless_present_any = ["next", "mine"], conflicts_with_all = ["next", "mine"])]
    id: Option<String>,
    /// The first of `bd ready` that is in nobody's hands; the filters say which will do
    #[arg(long)]
    next: bool,
    /// After a restart: everything you hold already and no other session of yours does
    #[arg(long, conflicts_with = "next")]
    mine: bool,
    /// With an ID: also from a session that is gone, or was silent for a minute
    #[arg(long, requires = "id")]
    take_over: bool,
    /// With --next: when nothing is ready, a bead whose session was silent for so long, at least a minute
    #[arg(long, value_name = "TIME", value_parser = super::globals::duration, requires = "next")]
    steal_silent: Option<Duration>,
    #[command(flatten)]
    lease: LeaseArgs,
    /// With --next: wait so long for something to become ready
    #[arg(long, value_name = "TIME", value_parser = super::globals::duration)]
    wait: Option<Duration>,
    /// With --next: only beads below this one, at any depth
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Claim only what the remote confirms; without its answer nothing is claimed
    #[arg(long)]
    confirm: bool,
    #[command(flatten)]
    guard: GuardArgs,
    #[command(flatten)]
    filter: FilterArgs,
}

/// How long a claim lasts.
#[derive(Debug, clap::Args)]
pub struct LeaseArgs {
    /// How long it is yours, such as 90m [default: the setting claim.lease]
    #[arg(long, value_name = "TIME", value_parser = lease)]
    lease: Option<u64>,
    /// The same in seconds
    #[arg(long, value_name = "SECONDS", value_parser = lease_secs, conflicts_with = "lease")]
    lease_secs: Option<u64>,
}

impl LeaseArgs {
    /// Milliseconds, if a time was given.
    pub fn ms(&self) -> Option<u64> {
        self.lease.or(self.lease_secs)
    }
}

fn lease_secs(text: &str) -> Result<u64, String> {
    let seconds: u32 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    lease(&format!("{seconds}s"))
}

/// Milliseconds of a lease.
pub(super) fn lease(text: &str) -> Result<u64, String> {
    let lease = parse_duration(text).map_err(|failure| failure.message)?;
    if lease.is_zero() {
        return Err("a lease of no time is no claim".to_owned());
    }
    Ok(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX))
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let (filter, guard, lease_ms) = (self.filter.filter(), self.guard.guard(), self.lease.ms());
        if self.mine {
            if filter != Filter::default() || self.wait.is_some() || self.parent.is_some() || self.confirm {
                return Err(Failure::usage("--mine takes all that you hold; it goes with --lease alone"));
            }
            return Ok(Call::ClaimMine { lease_ms });
        }
        if let Some(id) = self.id {
            if filter != Filter::default() || self.wait.is_some() || self.parent.is_some() {
                return Err(Failure::usage("filters and --wait are for choosing; they go with --next"));
            }
            let claim = ClaimBead { id, guard, lease_ms, take_over: self.take_over, ..ClaimBead::default() };
            return Ok(confirmed(Call::one(Op::Claim(claim)), self.confirm));
        }
        if guard != Default::default() {
            return Err(Failure::usage(
                "--if-hash and --fence are about a bead you know; they go with an ID",
            ));
        }
        let mut next = next(filter, self.parent, lease_ms)?;
        next.steal_silent_ms =
            self.steal_silent.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        Ok(confirmed(Call::one(Op::ClaimNext(Box::new(next))), self.confirm).waiting(self.wait))
    }
}

pub(super) fn confirmed(call: Call, confirm: bool) -> Call {
    if confirm { Call::Confirm { call: Box::new(call) } } else { call }
}

/// What may be claimed next.
pub fn next(filter: Filter, under: Option<String>, lease_ms: Option<u64>) -> Result<ClaimNext, Failure> {
    if filter.limit.is_some() {
        return Err(Failure::usage("one bead is claimed at a time; there is no --limit"));
    }
    Ok(ClaimNext { filter: ReadyFilter { filter, under }, lease_ms, ..ClaimNext::default() })
}
