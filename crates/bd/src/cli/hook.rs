use std::time::Duration;

use beads_core::op::{Guard, Unclaim};
use beads_core::query::{Filter, StatusFilter};
use beads_core::{Actor, Op};
use beads_engine::client::Access;
use beads_engine::escape::escape;
use beads_engine::failure::Failure;
use beads_engine::place::Place;
use beads_engine::request::{Call, Query, Reply};
use serde_json::{Value, json};

use super::answered;
use super::globals::Globals;
use crate::hook::{HookClient, Payload, Reminders};

/// A hook answers well before the ten seconds are over that `bd setup` allows it.
const PATIENCE: Duration = Duration::from_secs(5);

/// A reminder names so many beads; the rest is counted.
const NAMED: usize = 5;

/// Answer a hook of a coding agent's program
///
/// `bd setup` writes these commands into the hooks of each program. They read the payload from standard input, print JSON for the
/// program, and always succeed: a hook of ours never keeps an agent from working. `bd prime --hook` answers the start of a session.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  echo '{\"session_id\": \"s1\"}' | bd hook end")]
pub struct Args {
    #[arg(value_enum)]
    event: Event,
    /// The program, which decides the form of the answer
    #[arg(long, value_enum, default_value_t)]
    client: HookClient,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Event {
    /// The agent stops: remind it once of what it still holds
    Stop,
    /// The session ended: release what it holds
    End,
    /// A subagent begins: tell it to claim under a name of its own
    SubagentStart,
    /// A subagent stops: remind it once, then release what it holds
    SubagentStop,
}

/// A bead that is held, and by whom.
#[derive(Debug)]
struct Held {
    id: String,
    title: String,
    holder: String,
    fence: String,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Reply {
        let payload = Payload::read();
        let globals = globals.with_session(payload.session());
        let answer = match globals.place().ok().filter(Place::exists) {
            Some(place) => Hook { globals: &globals, place: &place, payload: &payload }.answer(&self),
            None => Ok(None),
        };
        let mut stderr = String::new();
        let answer = answer.unwrap_or_else(|failure| {
            if globals.is_verbose() {
                stderr = failure.line();
            }
            None
        });
        Reply { stderr, ..answered(format!("{}\n", answer.unwrap_or_else(|| json!({})))) }
    }
}

/// One call of a hook.
struct Hook<'a> {
    globals: &'a Globals,
    place: &'a Place,
    payload: &'a Payload,
}

impl Hook<'_> {
    fn answer(&self, args: &Args) -> Result<Option<Value>, Failure> {
        match args.event {
            Event::Stop => {
                self.remind(&self.held_here()?).map(|text| text.map(|text| args.client.go_on(&text)))
            }
            Event::End => self.end().map(|()| None),
            Event::SubagentStart => {
                self.introduce().map(|text| text.map(|text| args.client.context("SubagentStart", &text)))
            }
            Event::SubagentStop => {
                let held = self.held_by_subagent()?;
                let reminder = self.remind(&held)?;
                if reminder.is_none() {
                    self.release(&held);
                }
                Ok(reminder.map(|text| args.client.go_on(&text)))
            }
        }
    }

    fn ask(&self, globals: &Globals, call: Call) -> Result<Value, Failure> {
        let access = globals.access();
        let access = Access { lock_timeout: access.lock_timeout.min(PATIENCE), ..access };
        globals.value_through(self.place, call, &access)
    }

    /// Under which name reminders are kept.
    fn who(&self) -> Result<String, Failure> {
        let session = match self.payload.session() {
            Some(session) => session.to_string(),
            None => self.globals.actor(self.place)?.to_string(),
        };
        Ok(format!("{session}/{}", self.payload.agent().unwrap_or_default()))
    }

    /// What to tell an agent that stops and holds something, once for each claim.
    fn remind(&self, held: &[Held]) -> Result<Option<String>, Failure> {
        if self.payload.may_stop() || held.is_empty() {
            return Ok(None);
        }
        let fences: Vec<String> = held.iter().map(|one| one.fence.clone()).collect();
        let reminders = Reminders::new(&self.place.store_dir());
        // A reminder that cannot be noted is not given: it would be given again and again.
        let new = reminders.take_new(&self.who()?, &fences).unwrap_or_default();
        let told: Vec<&Held> = held.iter().filter(|one| new.contains(&one.fence)).collect();
        Ok((!told.is_empty()).then(|| reminder(&told)))
    }

    fn in_progress(&self, assignee: Option<Actor>) -> Result<Vec<Held>, Failure> {
        let filter = Filter { assignee, status: vec![StatusFilter::InProgress], ..Filter::default() };
        let beads = self.ask(self.globals, Call::query(Query::List(filter)))?;
        let held = |bead: &Value| {
            let (ms, counter) = (bead["assignee_at"][0].as_u64()?, bead["assignee_at"][1].as_u64()?);
            Some(Held { fence: format!("{ms}.{counter}"), ..Held::of(bead, "assignee")? })
        };
        Ok(beads.as_array().into_iter().flatten().filter_map(held).collect())
    }

    /// What the session holds, and what its actor holds in no known session. What its subagents hold is theirs.
    fn held_here(&self) -> Result<Vec<Held>, Failure> {
        let actor = self.globals.actor(self.place)?;
        let session = self.payload.session().map(|session| session.to_string());
        let sessions = self.ask(self.globals, Call::Sessions)?;
        let (mut mine, mut known) = (Vec::new(), Vec::new());
        for one in sessions.as_array().into_iter().flatten() {
            let is_mine = one["session"].as_str() == session.as_deref();
            for claim in one["claims"].as_array().into_iter().flatten() {
                let Some(held) = Held::of(claim, "holder") else { continue };
                known.push(held.fence.clone());
                mine.extend((is_mine && is_main(&held.holder, &actor)).then_some(held));
            }
        }
        let unknown = self.in_progress(Some(actor))?.into_iter().filter(|held| !known.contains(&held.fence));
        mine.extend(unknown);
        Ok(mine)
    }

    fn held_by_subagent(&self) -> Result<Vec<Held>, Failure> {
        let Some(agent) = self.payload.agent() else { return Ok(Vec::new()) };
        let suffix = format!("/{agent}");
        Ok(self.in_progress(None)?.into_iter().filter(|held| held.holder.ends_with(&suffix)).collect())
    }

    /// Gives back what a subagent held, as its holder and under its fence.
    fn release(&self, held: &[Held]) {
        for one in held {
            let (Ok(holder), Ok(fence), Ok(reason)) =
                (one.holder.parse::<Actor>(), one.fence.parse(), "given back: the subagent ended".parse())
            else {
                continue;
            };
            let guard = Guard { fence: Some(fence), ..Guard::default() };
            let unclaim = Unclaim { id: one.id.clone(), guard, reason, ..Unclaim::default() };
            // A claim that is over by now needs not be given back.
            let _ = self.ask(&self.globals.with_actor(holder), Call::one(Op::Unclaim(unclaim)));
        }
    }

    fn end(&self) -> Result<(), Failure> {
        if self.payload.session().is_none() {
            return Ok(());
        }
        Reminders::new(&self.place.store_dir()).forget(&self.who()?);
        self.ask(self.globals, Call::EndSession { keep: false, fences: Vec::new() }).map(drop)
    }

    fn introduce(&self) -> Result<Option<String>, Failure> {
        let Some(agent) = self.payload.agent() else { return Ok(None) };
        let actor: Actor = format!("{}/{agent}", self.globals.actor(self.place)?).parse()?;
        let (agent, actor) = (escape(agent), escape(actor.as_str()));
        Ok(Some(format!(
            "Work is tracked with bd. Before you claim a bead: pass \"agent\": \"{agent}\" in every call of a beads tool and \
             --actor '{actor}' to every bd command, so that your claims are your own."
        )))
    }
}

impl Held {
    fn of(value: &Value, holder: &str) -> Option<Self> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        Some(Self {
            id: text("id")?,
            title: text("title").unwrap_or_default(),
            holder: text(holder)?,
            fence: text("fence").unwrap_or_default(),
        })
    }
}

/// Whether a holder is the agent itself and no subagent of it: those have a name behind that of their client's host.
fn is_main(holder: &str, actor: &Actor) -> bool {
    let host = holder.split_once('@').map_or(holder, |(_, host)| host);
    holder == actor.as_str() || !host.contains('/')
}

fn reminder(held: &[&Held]) -> String {
    let named: Vec<String> =
        held.iter().take(NAMED).map(|one| format!("{} ({})", escape(&one.id), escape(&one.title))).collect();
    let more = match held.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let id = escape(&held[0].id);
    format!(
        "You still hold {}{more}. Finish it (bd close {id} --reason \"…\"), or note what is left and release it (bd note add {id} \
         \"…\"; bd unclaim {id} --reason \"…\"). The beads tools done and note do the same. To keep it, just stop again.",
        named.join(", ")
    )
}
