use std::time::Duration;

use beads_core::Op;
use beads_core::op::{ClaimBead, ClaimNext};
use beads_core::query::{Filter, ReadyFilter};
use beads_engine::config::parse_duration;
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::filter::FilterArgs;
use super::guard::GuardArgs;

/// Claim a bead for yourself
///
/// A claim is a lease: it expires unless you renew it, with `bd renew` or by changing the bead. --next
/// chooses and claims the best ready bead in one step and shows its brief. --sort takes the orders of
/// `bd ready`: priority, oldest, hybrid or impact.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd claim bd-a1 --lease 4h\n  bd claim --next --label backend --wait 60s --json\n  bd claim --next --sort impact\n  bd claim bd-a1 --confirm\n  bd claim bd-a1 --take-over\n  bd claim --mine",
    mut_arg("sort", |sort| sort.value_name("KEY").help("With --next: choose by priority, oldest, impact or hybrid")),
    mut_arg("reverse", |reverse| reverse.hide(true)),
    mut_arg("limit", |limit| limit.hide(true))
)]
pub struct Args {
    /// Id of the bead; an unambiguous prefix is enough
    #[arg(value_name = "ID", required_unless_present_any = ["next", "mine"], conflicts_with_all = ["next", "mine"])]
    id: Option<String>,
    /// Claim the best ready bead that matches the filters
    #[arg(long)]
    next: bool,
    /// After a restart: renew all your claims that no other session of yours holds
    #[arg(long, conflicts_with = "next")]
    mine: bool,
    /// With an ID: take over the claim of a session that ended or has been silent for a minute
    #[arg(long, requires = "id")]
    take_over: bool,
    /// With --next: if nothing is ready, take a bead whose session has been silent for TIME (at least 1m)
    #[arg(long, value_name = "TIME", value_parser = super::globals::duration, requires = "next")]
    steal_silent: Option<Duration>,
    #[command(flatten)]
    lease: LeaseArgs,
    /// With --next: wait up to TIME for a bead to become ready
    #[arg(long, value_name = "TIME", value_parser = super::globals::duration)]
    wait: Option<Duration>,
    /// With --next: only beads below this one, at any depth
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Claim only if the remote confirms it; without its answer nothing is claimed
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
    /// Duration of the claim, such as 90m [default: the setting claim.lease]
    #[arg(long, value_name = "TIME", value_parser = lease)]
    lease: Option<u64>,
    /// Duration of the claim in seconds
    #[arg(long, value_name = "SECONDS", value_parser = lease_secs, conflicts_with = "lease")]
    lease_secs: Option<u64>,
}

impl LeaseArgs {
    /// Returns the lease in milliseconds, if one was given.
    pub fn ms(&self) -> Option<u64> {
        self.lease.or(self.lease_secs)
    }
}

fn lease_secs(text: &str) -> Result<u64, String> {
    let seconds: u32 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    lease(&format!("{seconds}s"))
}

/// Parses a lease into milliseconds.
pub(super) fn lease(text: &str) -> Result<u64, String> {
    let lease = parse_duration(text).map_err(|failure| failure.message)?;
    if lease.is_zero() {
        return Err("a lease must be longer than zero".to_owned());
    }
    Ok(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX))
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let (filter, guard, lease_ms) = (self.filter.clone().filter(), self.guard.guard(), self.lease.ms());
        if self.mine {
            if filter != Filter::default() || self.wait.is_some() || self.parent.is_some() || self.confirm {
                return Err(Failure::usage(
                    "--mine applies to all your claims; only --lease can be used with it",
                ));
            }
            return Ok(Call::ClaimMine { lease_ms });
        }
        if let Some(id) = self.id {
            if filter != Filter::default() || self.wait.is_some() || self.parent.is_some() {
                return Err(Failure::usage("filters, --parent and --wait require --next"));
            }
            let claim = ClaimBead { id, guard, lease_ms, take_over: self.take_over, ..ClaimBead::default() };
            return Ok(confirmed(Call::one(Op::Claim(claim)), self.confirm));
        }
        if guard != Default::default() {
            return Err(Failure::usage("--if-hash and --fence require an ID"));
        }
        let Self { lease, wait, parent, confirm, steal_silent, filter, .. } = self;
        super::next::Args { lease, wait, parent, confirm, steal_silent, filter }.call()
    }
}

pub(super) fn confirmed(call: Call, confirm: bool) -> Call {
    if confirm { Call::Confirm { call: Box::new(call) } } else { call }
}

/// Builds the operation for `--next`.
pub fn next(filter: Filter, under: Option<String>, lease_ms: Option<u64>) -> Result<ClaimNext, Failure> {
    if filter.limit.is_some() {
        return Err(Failure::usage("--limit cannot be used here: one bead is claimed at a time"));
    }
    Ok(ClaimNext { filter: ReadyFilter { filter, under }, lease_ms, ..ClaimNext::default() })
}
