use std::sync::Arc;

use beads_core::Timestamp;
use beads_engine::client;
use beads_engine::failure::{Failure, exit};
use beads_engine::place::Place;
use beads_engine::request::{Call, Format, LocalClock, Output, Reply, Request};
use serde_json::Value;

use super::filter::past_time;
use super::globals::Globals;
use super::{stdout_reply, terminal};
use crate::top::{About, Look, Screen, Snapshot, Store, run, text};

/// The size of a frame that is printed instead of shown.
const PRINTED: (u16, u16) = (80, 24);

/// Watch the agents on a terminal: what is stuck and who does what
///
/// Shows the view Now of the board and keeps it up to date: beads that cannot go on, by how many wait behind
/// them; the agents, those in trouble first; and what is handed out next. The keys are at the bottom, and ?
/// explains them; 2 shows what needs you, 3 the last night. If standard output is not a terminal, or with
/// --once, one frame is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd top\n  bd top --since 8h\n  bd top --once")]
pub struct Args {
    /// Count closed beads from here: an age such as 8h, today, yesterday, a date, a local date-time or RFC 3339
    #[arg(long, short = 's', value_name = "TIME", default_value = "24h", value_parser = past_time)]
    since: Timestamp,
    /// Print one frame and exit
    #[arg(long)]
    once: bool,
}

/// The store, asked through the daemon like every other command does.
#[derive(Debug)]
struct Client {
    globals: Globals,
    place: Place,
}

impl Store for Client {
    fn ask(&self, call: Call) -> Result<Value, Failure> {
        self.globals.value(&self.place, call)
    }

    fn text(&self, call: Call, width: usize) -> Result<String, Failure> {
        let request = self.globals.request(&self.place, call)?;
        let clock = Some(self.clock());
        let output = Output { format: Format::Text, width: Some(width), clock, ..Output::default() };
        let reply = client::ask(&self.place, Request { output, ..request }, &self.globals.access());
        match reply.exit {
            exit::OK => Ok(reply.stdout),
            _ => Err(Failure::invalid(reply.stderr.trim_end())),
        }
    }

    fn about(&self) -> Result<About, Failure> {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let actor = self.globals.actor(&self.place)?.to_string();
        Ok(About { name: self.place.name(), host, actor })
    }

    fn clock(&self) -> LocalClock {
        terminal::local_clock()
    }
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        if globals.format() == Format::Json {
            let message = "bd top has no JSON output; bd status, bd agents and bd ready have its data";
            return Err(Failure::usage(message));
        }
        let store: Arc<dyn Store> = Arc::new(Client { globals: globals.clone(), place: globals.place()? });
        let since_ms = self.since.ms();
        let size = terminal::size();
        if let (Some(_), false) = (size, self.once) {
            run(&store, globals.output()?.color, since_ms)?;
            return Ok(stdout_reply(String::new()));
        }
        let mut screen = Screen::default();
        screen.update(Snapshot::of(store.as_ref(), since_ms)?);
        let whole = |(columns, rows): (usize, usize)| {
            Some((u16::try_from(columns).ok()?, u16::try_from(rows).ok()?.saturating_sub(1)))
        };
        let (width, height) = size.and_then(whole).unwrap_or(PRINTED);
        let look = Look { color: false, clock: store.clock() };
        screen.resize(width.into());
        Ok(stdout_reply(text(&screen, &look, width, height)))
    }
}
