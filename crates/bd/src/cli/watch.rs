use std::time::{Duration, Instant};

use beads_core::Status;
use beads_core::query::{Filter, ReadyFilter};
use beads_engine::failure::{Code, Failure, exit};
use beads_engine::place::Place;
use beads_engine::render::{self, EventAnswer, EventsAnswer};
use beads_engine::request::{Call, EventsQuery, Output, Query, Reply};
use beads_store::Cursor;

use super::answered;
use super::globals::Globals;

/// How long one question to the daemon waits; it is asked again until the time is up.
const LONG_POLL: Duration = Duration::from_secs(30);

/// A bead may become ready because time passes, of which no event tells.
const LOOK_FOR_READY: Duration = Duration::from_secs(1);

/// Tell what happens, as it happens
///
/// One event per line: created, claimed, updated, note, closed, unblocked, deleted, synced, conflict. Each has a cursor;
/// with --since a later watch goes on right behind it, over restarts of everything.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd watch --json\n  bd watch --since 5f0c11aa-42 --timeout 0\n  bd watch --ids bd-a1,bd-b2 --until closed --timeout 1h"
)]
pub struct Args {
    /// Begin behind this cursor, 0 for the oldest event that is kept [default: now]
    #[arg(long, value_name = "CURSOR", value_parser = cursor)]
    since: Option<Cursor>,
    /// Stop when this is so: closed (all of --ids), ready (one of --ids, or anything), changed (the first event)
    #[arg(long, value_name = "closed|ready|changed")]
    until: Option<Until>,
    /// Only about these beads
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    ids: Vec<String>,
    /// Stop after this time; 0 to tell what has happened already and stop
    #[arg(long, value_name = "TIME", value_parser = super::globals::duration)]
    timeout: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Until {
    Closed,
    Ready,
    Changed,
}

fn cursor(text: &str) -> Result<Cursor, String> {
    text.parse().map_err(|error: beads_store::Error| error.to_string())
}

/// A watch under way.
struct Watch<'a> {
    args: &'a Args,
    globals: &'a Globals,
    place: Place,
    output: Output,
    deadline: Option<Instant>,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        if self.until == Some(Until::Closed) && self.ids.is_empty() {
            return Err(Failure::usage("--until closed needs --ids: which beads should be closed?"));
        }
        let deadline = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let (place, output) = (globals.place()?, globals.output()?);
        let exit = match (Watch { args: &self, globals, place, output, deadline }).run()? {
            Ended::AsAsked => exit::OK,
            Ended::Unread(error) => crate::print::report(&mut std::io::stderr(), &error, &[], exit::OK),
        };
        Ok(Reply { exit, ..answered(String::new()) })
    }
}

/// Why a watch is over.
enum Ended {
    AsAsked,
    /// The events could not be written.
    Unread(std::io::Error),
}

impl Watch<'_> {
    fn run(&self) -> Result<Ended, Failure> {
        let mut cursor = match &self.args.since {
            Some(since) => since.clone(),
            None => self.events(None, Duration::ZERO)?.cursor.parse()?,
        };
        loop {
            if self.holds()? {
                return Ok(Ended::AsAsked);
            }
            let batch = self.events(Some(&cursor), self.patience())?;
            if let Err(error) = self.print(&batch.events) {
                return Ok(Ended::Unread(error));
            }
            cursor = batch.cursor.parse()?;
            if self.args.until == Some(Until::Changed) && !batch.events.is_empty() {
                return Ok(Ended::AsAsked);
            }
            if !batch.more && self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return match self.args.until {
                    None => Ok(Ended::AsAsked),
                    Some(_) if self.holds()? => Ok(Ended::AsAsked),
                    Some(_) => {
                        Err(Failure::new(Code::Timeout, format!("not yet; go on with --since {cursor}"))
                            .with(serde_json::json!({"cursor": cursor.to_string()})))
                    }
                };
            }
        }
    }

    fn patience(&self) -> Duration {
        let longest = if self.args.until == Some(Until::Ready) { LOOK_FOR_READY } else { LONG_POLL };
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        left.map_or(longest, |left| left.min(longest))
    }

    fn events(&self, since: Option<&Cursor>, wait: Duration) -> Result<EventsAnswer, Failure> {
        let query = EventsQuery { since: since.cloned(), ids: self.args.ids.clone(), limit: None };
        self.ask(Call::query(Query::Events(query)).waiting(Some(wait)))
    }

    fn ask<T: serde::de::DeserializeOwned>(&self, call: Call) -> Result<T, Failure> {
        self.globals.value(&self.place, call)
    }

    /// Whether what was waited for is so.
    fn holds(&self) -> Result<bool, Failure> {
        #[derive(serde::Deserialize)]
        struct Bead {
            status: Status,
        }
        let filter = Filter { ids: Some(self.args.ids.clone()), ..Filter::default() };
        match self.args.until {
            None | Some(Until::Changed) => Ok(false),
            Some(Until::Closed) => {
                // A bead that was deleted is no longer listed: nobody will work on it either.
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
