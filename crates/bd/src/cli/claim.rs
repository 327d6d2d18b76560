use std::time::Duration;

use beads_core::Op;
use beads_core::op::{ClaimBead, ClaimNext};
use beads_core::query::{Filter, ReadyFilter};
use beads_engine::config::parse_duration;
use beads_engine::failure::{Code, Failure};
use beads_engine::render::{Answer, ConfirmedAnswer};
use beads_engine::request::{Call, Query, Reply};
use serde_json::{Value, json};

use super::filter::FilterArgs;
use super::globals::Globals;
use super::guard::GuardArgs;

/// Take a bead, so that nobody else does
///
/// With --next the best bead that is ready is chosen and taken in one step, and its brief comes along. A claim is a
/// lease: it runs out unless you renew it, by `bd renew` or by any change you make to the bead.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd claim bd-a1 --lease 4h\n  bd claim --next --label backend --wait 60s --json\n  bd claim bd-a1 --confirm"
)]
pub struct Args {
    #[arg(value_name = "ID", required_unless_present = "next", conflicts_with = "next")]
    id: Option<String>,
    /// The first of `bd ready` that is in nobody's hands; the filters say which will do
    #[arg(long)]
    next: bool,
    #[command(flatten)]
    lease: LeaseArgs,
    /// With --next: wait so long for something to become ready
    #[arg(long, value_name = "TIME", value_parser = super::globals::duration)]
    wait: Option<Duration>,
    /// With --next: only beads below this one, at any depth
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Push the claim, and say whether somebody on another machine was faster
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
fn lease(text: &str) -> Result<u64, String> {
    let lease = parse_duration(text).map_err(|failure| failure.message)?;
    if lease.is_zero() {
        return Err("a lease of no time is no claim".to_owned());
    }
    Ok(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX))
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let (filter, guard, lease_ms) = (self.filter.filter(), self.guard.guard(), self.lease.ms());
        if let Some(id) = self.id {
            if filter != Filter::default() || self.wait.is_some() || self.parent.is_some() {
                return Err(Failure::usage("filters and --wait are for choosing; they go with --next"));
            }
            return Ok(Call::one(Op::Claim(ClaimBead { id, guard, lease_ms })));
        }
        if guard != Default::default() {
            return Err(Failure::usage(
                "--if-hash and --fence are about a bead you know; they go with an ID",
            ));
        }
        let next = next(filter, self.parent, lease_ms)?;
        Ok(Call::one(Op::ClaimNext(Box::new(next))).waiting(self.wait))
    }
}

/// `--confirm`: claim, synchronise, look again.
impl Args {
    pub fn confirm(&self) -> bool {
        self.confirm
    }

    pub fn confirmed(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        let claimed: Value = globals.value_to_show(&place, self.call()?)?;
        let (id, fence) = (&claimed["id"], &claimed["fence"]);
        let unconfirmed = |failure: Failure| {
            let message = format!("claimed here, but not confirmed: {}", failure.message);
            Failure { message, ..failure }.with(json!({"id": id, "fence": fence}))
        };
        let synced: Value = globals.value(&place, Call::Sync).map_err(unconfirmed)?;
        let ids = vec![id.as_str().unwrap_or_default().to_owned()];
        let now: Value = globals.value(&place, Call::query(Query::Show { ids })).map_err(unconfirmed)?;
        let now = &now[0];
        let at = |index: usize| now["assignee_at"][index].as_u64().unwrap_or_default();
        if *fence != format!("{}.{}", at(0), at(1)) {
            let details = json!({"id": id, "holder": now["assignee"], "expires": now["assignee_expires"]});
            let holder = now["assignee"].as_str().unwrap_or("nobody");
            let message = format!("{} is held by {holder}, who was faster on another machine", ids_text(id));
            return Err(Failure::new(Code::AlreadyClaimed, message).with(details));
        }
        globals.answer(Answer::Confirmed(ConfirmedAnswer { claimed, remote: synced["remote"].clone() }))
    }
}

fn ids_text(id: &Value) -> &str {
    id.as_str().unwrap_or_default()
}

/// What may be claimed next.
pub fn next(filter: Filter, under: Option<String>, lease_ms: Option<u64>) -> Result<ClaimNext, Failure> {
    if filter.sort != Default::default() {
        return Err(Failure::usage("the next bead is the most urgent, oldest first; there is no --sort"));
    }
    if filter.limit.is_some() {
        return Err(Failure::usage("one bead is claimed at a time; there is no --limit"));
    }
    Ok(ClaimNext { filter: ReadyFilter { filter, under }, lease_ms })
}
