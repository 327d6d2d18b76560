use std::cell::Cell;
use std::time::{Duration, Instant};

use beads_core::Status;
use beads_core::op::Fence;
use beads_core::query::{Filter, ReadyFilter};
use beads_engine::client::Access;
use beads_engine::failure::{Code, Failure, exit};
use beads_engine::place::Place;
use beads_engine::render::{self, EventAnswer, EventsAnswer};
use beads_engine::request::{Call, ClaimOver, EventsQuery, Format, Output, Query, Reply};
use beads_store::Cursor;

use super::globals::Globals;
use super::stdout_reply;

/// How long one request to the daemon waits. It is repeated until the timeout.
const LONG_POLL: Duration = Duration::from_secs(30);

/// How often to check for ready beads. A bead can become ready because time passes, without an event.
const READY_INTERVAL: Duration = Duration::from_secs(1);

/// Watch events as they happen
///
/// Prints one event per line: created, claimed, handed_over, released, expired, updated, note, asked, answered,
/// closed, cancelled, reopened, unblocked, deleted, synced, sync_failed, sync_recovered, conflict. Each event
/// has a cursor; --since continues after it, even after restarts.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd watch --json\n  bd watch --since 5f0c11aa-42 --timeout 0\n  bd watch --ids bd-a1,bd-b2 --until closed --timeout 1h\n  bd watch --claim 1760000000000.65537 --until over --json"
)]
pub struct Args {
    /// Start after this cursor; 0 for the oldest event that is kept [default: now]
    #[arg(long, value_name = "CURSOR", value_parser = cursor)]
    since: Option<Cursor>,
    /// Stop when all of --ids are closed, when one of --ids (or any bead) is ready, at the first event
    /// (changed), or when the claim of --claim is over
    #[arg(long, value_name = "closed|ready|changed|over")]
    until: Option<Until>,
    /// Only events of these beads
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    ids: Vec<String>,
    /// With --until over: wait for the claim with this fence to end, and show how it ended
    #[arg(long, value_name = "FENCE", conflicts_with_all = ["since", "ids"])]
    claim: Option<Fence>,
    /// Stop after TIME; 0 to print past events and stop
    #[arg(long, value_name = "TIME", value_parser = super::globals::duration)]
    timeout: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Until {
    Closed,
    Ready,
    Changed,
    Over,
}

fn cursor(text: &str) -> Result<Cursor, String> {
    text.parse().map_err(|error: beads_store::Error| error.to_string())
}

/// A running watch.
struct Watch<'a> {
    args: &'a Args,
    globals: &'a Globals,
    place: Place,
    output: Output,
    deadline: Option<Instant>,
    /// Whether a request has been answered. From then on no daemon is started, so that a stopped one stays
    /// stopped.
    served: Cell<bool>,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        if self.until == Some(Until::Closed) && self.ids.is_empty() {
            return Err(Failure::usage("--until closed requires --ids"));
        }
        if (self.until == Some(Until::Over)) != self.claim.is_some() {
            return Err(Failure::usage("--until over and --claim FENCE require each other"));
        }
        let deadline = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let (place, output) = (globals.place()?, globals.output()?);
        let watch = Watch { args: &self, globals, place, output, deadline, served: Cell::new(false) };
        if let Some(fence) = self.claim {
            return watch.wait_for_claim_end(fence);
        }
        let exit = match watch.run()? {
            Ended::Finished => exit::OK,
            Ended::OutputFailed(error) => crate::print::report(&mut std::io::stderr(), &error, &[], exit::OK),
        };
        Ok(Reply { exit, ..stdout_reply(String::new()) })
    }
}

/// Why a watch ended.
enum Ended {
    Finished,
    /// The events could not be written.
    OutputFailed(std::io::Error),
}

impl Watch<'_> {
    fn run(&self) -> Result<Ended, Failure> {
        // Also checks the ids: a list ignores unknown ones, so they would count as closed.
        let newest = self.events(None, Duration::ZERO)?.cursor;
        let mut cursor = match &self.args.since {
            Some(since) => since.clone(),
            None => newest.parse()?,
        };
        loop {
            if self.condition_met()? {
                return Ok(Ended::Finished);
            }
            let batch = self.events(Some(&cursor), self.poll_timeout())?;
            if let Err(error) = self.print(&batch.events) {
                return Ok(Ended::OutputFailed(error));
            }
            cursor = batch.cursor.parse()?;
            if self.args.until == Some(Until::Changed) && !batch.events.is_empty() {
                return Ok(Ended::Finished);
            }
            if !batch.more && self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return match self.args.until {
                    None => Ok(Ended::Finished),
                    Some(_) if self.condition_met()? => Ok(Ended::Finished),
                    Some(_) => Err(Failure::new(
                        Code::Timeout,
                        format!("the condition is not met yet; continue with --since {cursor}"),
                    )
                    .with(serde_json::json!({"cursor": cursor.to_string()}))),
                };
            }
        }
    }

    fn poll_timeout(&self) -> Duration {
        let longest = if self.args.until == Some(Until::Ready) { READY_INTERVAL } else { LONG_POLL };
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        left.map_or(longest, |left| left.min(longest))
    }

    fn events(&self, since: Option<&Cursor>, wait: Duration) -> Result<EventsAnswer, Failure> {
        let query = EventsQuery { since: since.cloned(), ids: self.args.ids.clone(), limit: None };
        self.ask(Call::query(Query::Events(query)).waiting(Some(wait)))
    }

    fn ask<T: serde::de::DeserializeOwned>(&self, call: Call) -> Result<T, Failure> {
        let access = self.globals.access();
        let access = Access { no_daemon: access.no_daemon || self.served.get(), ..access };
        let answer = self.globals.value_with(&self.place, call, &access)?;
        self.served.set(true);
        Ok(answer)
    }

    /// Waits until the claim with this fence ends, and prints how it ended.
    fn wait_for_claim_end(&self, fence: Fence) -> Result<Reply, Failure> {
        loop {
            let call = Call::query(Query::ClaimOver { fence }).waiting(Some(self.poll_timeout()));
            let answer: serde_json::Value = self.ask(call)?;
            if answer["over"] == true {
                let over: ClaimOver =
                    serde_json::from_value(answer["claim_over"].clone()).map_err(Failure::internal)?;
                return Ok(stdout_reply(match self.globals.format() {
                    Format::Json => render::json(&answer),
                    _ => format!("{}\n", beads_engine::escape::escape(&over.to_string())),
                }));
            }
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Failure::new(Code::Timeout, "the claim has not ended"));
            }
        }
    }

    /// Returns whether the condition of `--until` is met.
    fn condition_met(&self) -> Result<bool, Failure> {
        #[derive(serde::Deserialize)]
        struct Bead {
            status: Status,
        }
        let filter = Filter { ids: Some(self.args.ids.clone()), ..Filter::default() };
        match self.args.until {
            None | Some(Until::Changed | Until::Over) => Ok(false),
            Some(Until::Closed) => {
                // Deleted and archived beads are not listed, so they count as closed.
                let beads: Vec<Bead> = self.ask(Call::query(Query::List(filter)))?;
                Ok(beads.iter().all(|bead| bead.status == Status::Closed))
            }
            Some(Until::Ready) => {
                let filter = if self.args.ids.is_empty() { Filter::default() } else { filter };
                let asked = ReadyFilter { filter: Filter { limit: Some(1), ..filter }, under: None };
                let beads: Vec<Bead> = self.ask(Call::query(Query::Ready(asked)))?;
                Ok(!beads.is_empty())
            }
        }
    }

    fn print(&self, events: &[EventAnswer]) -> std::io::Result<()> {
        let lines = render::events(events, &self.output);
        crate::print::write(&mut std::io::stdout(), lines.as_bytes())
    }
}
