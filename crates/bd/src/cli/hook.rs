use std::time::{Duration, Instant};

use beads_core::op::{Fence, Guard, Unclaim};
use beads_core::query::{Filter, StatusFilter};
use beads_core::{Actor, Op};
use beads_engine::client::Access;
use beads_engine::escape::escape;
use beads_engine::failure::Failure;
use beads_engine::place::Place;
use beads_engine::request::{Call, Query, Reply};
use beads_engine::session_id::SessionId;
use serde_json::{Value, json};

use super::globals::Globals;
use super::place::has_store;
use super::stdout_reply;
use crate::hook::{HookClient, Payload, Reminders};

/// Well below the ten seconds that `bd setup` allows for a hook.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The most beads that a reminder names; the rest are counted.
const MAX_LISTED: usize = 5;

/// Answer a hook of a coding agent
///
/// `bd setup` adds these commands to the hooks of each coding agent. They read the payload from standard
/// input, print JSON for the agent, and always succeed, so that they never stop an agent from working. For
/// the start of a session see `bd prime --hook`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  echo '{\"session_id\": \"s1\"}' | bd hook end")]
pub struct Args {
    /// What happened in the coding agent
    #[arg(value_enum)]
    event: Event,
    /// Coding agent, which determines the format of the answer
    #[arg(long, value_enum, default_value_t)]
    client: HookClient,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Event {
    /// The agent stops: remind it once of its claims
    Stop,
    /// The session ended: release its claims
    End,
    /// A subagent starts: tell it to claim under its own name
    SubagentStart,
    /// A subagent stops: remind it once, then release its claims
    SubagentStop,
}

/// A claimed bead and its holder.
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
        let answer = match globals.place().ok().filter(has_store) {
            Some(place) => {
                let deadline = Instant::now() + TIMEOUT;
                let hook = Hook {
                    globals: &globals,
                    place: &place,
                    payload: &payload,
                    client: self.client,
                    deadline,
                };
                hook.answer(self.event)
            }
            None => Ok(None),
        };
        let mut stderr = String::new();
        let answer = answer.unwrap_or_else(|failure| {
            if globals.is_verbose() {
                stderr = failure.line();
            }
            None
        });
        Reply { stderr, ..stdout_reply(format!("{}\n", answer.unwrap_or_else(|| json!({})))) }
    }
}

/// One invocation of a hook.
struct Hook<'a> {
    globals: &'a Globals,
    place: &'a Place,
    payload: &'a Payload,
    client: HookClient,
    deadline: Instant,
}

/// A session with its claims.
struct Session {
    id: SessionId,
    is_ours: bool,
    claims: Vec<Held>,
}

impl Hook<'_> {
    fn answer(&self, event: Event) -> Result<Option<Value>, Failure> {
        let client = self.client;
        match event {
            Event::Stop => Ok(self.remind(&self.held_by_session()?)?.map(|text| client.continue_with(&text))),
            Event::End => self.end().map(|()| None),
            Event::SubagentStart => {
                Ok(self.subagent_instructions()?.map(|text| client.context("SubagentStart", &text)))
            }
            Event::SubagentStop => {
                let held = self.held_by_subagent()?;
                let reminder = self.remind(&held)?;
                if reminder.is_none() {
                    self.release(&held);
                }
                Ok(reminder.map(|text| client.continue_with(&text)))
            }
        }
    }

    fn ask(&self, globals: &Globals, call: Call) -> Result<Value, Failure> {
        let access = globals.access();
        let left = self.deadline.saturating_duration_since(Instant::now());
        let access = Access { lock_timeout: access.lock_timeout.min(left), ..access };
        globals.value_with(self.place, call, &access)
    }

    /// Returns the key under which reminders are recorded.
    fn reminder_key(&self) -> Result<String, Failure> {
        let session = match self.payload.session() {
            Some(session) => session.to_string(),
            None => self.globals.actor(self.place)?.to_string(),
        };
        Ok(format!("{session}/{}", self.payload.agent().unwrap_or_default()))
    }

    /// Returns the reminder for an agent that stops while it holds beads, once for each claim.
    fn remind(&self, held: &[Held]) -> Result<Option<String>, Failure> {
        if self.payload.may_stop() || held.is_empty() {
            return Ok(None);
        }
        let fences: Vec<String> = held.iter().map(|one| one.fence.clone()).collect();
        let reminders = Reminders::new(&self.place.store_dir());
        // A reminder that cannot be recorded is not given, because it would be repeated forever.
        let new = reminders.record_new(&self.reminder_key()?, &fences).unwrap_or_default();
        let unreminded: Vec<&Held> = held.iter().filter(|one| new.contains(&one.fence)).collect();
        let actor = self.globals.actor(self.place)?;
        Ok((!unreminded.is_empty()).then(|| reminder(&unreminded, &actor)))
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

    /// Returns every session that holds beads. Two are ours: the one that the payload names, and the one of
    /// the MCP server that the same agent process started, because a server does not know which session it
    /// serves.
    fn sessions(&self) -> Result<Vec<Session>, Failure> {
        let named = self.payload.session();
        let parent = self.client.runs_one_session().then(std::os::unix::process::parent_id);
        let sessions = self.ask(self.globals, Call::Sessions)?;
        let session = |one: &Value| {
            let id: SessionId = one["session"].as_str()?.parse().ok()?;
            let is_server = parent.is_some() && id.parent() == parent && one["state"] != "ended";
            let claims = one["claims"].as_array().into_iter().flatten();
            let claims = claims.filter_map(|claim| Held::of(claim, "holder")).collect();
            Some(Session { is_ours: is_server || Some(&id) == named.as_ref(), id, claims })
        };
        Ok(sessions.as_array().into_iter().flatten().filter_map(session).collect())
    }

    /// Returns the claims of this session, and those of its actor without a known session. Excludes claims of
    /// subagents.
    fn held_by_session(&self) -> Result<Vec<Held>, Failure> {
        let actor = self.globals.actor(self.place)?;
        let (mut ours, mut known) = (Vec::new(), Vec::new());
        for session in self.sessions()? {
            known.extend(session.claims.iter().map(|held| held.fence.clone()));
            let claims = session.claims.into_iter().filter(|held| is_main_agent(&held.holder, &actor));
            ours.extend(claims.filter(|_| session.is_ours));
        }
        let unknown = self.in_progress(Some(actor))?.into_iter().filter(|held| !known.contains(&held.fence));
        ours.extend(unknown);
        Ok(ours)
    }

    /// Returns the claims of the subagent, under its assigned name, on this machine.
    fn held_by_subagent(&self) -> Result<Vec<Held>, Failure> {
        let Some(agent) = self.payload.agent() else { return Ok(Vec::new()) };
        let own = format!("{}/{agent}", self.globals.actor(self.place)?);
        let local: Vec<Held> = self.sessions()?.into_iter().flat_map(|session| session.claims).collect();
        let is_local = |fence: &str| local.iter().any(|held| held.fence == fence);
        let suffix = format!("/{agent}");
        let is_its =
            |held: &Held| held.holder == own || (held.holder.ends_with(&suffix) && is_local(&held.fence));
        Ok(self.in_progress(None)?.into_iter().filter(is_its).collect())
    }

    /// Releases the claims of a subagent, as their holder and guarded by their fences.
    fn release(&self, held: &[Held]) {
        for one in held {
            let (Ok(holder), Ok(fence), Ok(reason)) =
                (one.holder.parse::<Actor>(), one.fence.parse(), "given back: the subagent ended".parse())
            else {
                continue;
            };
            let guard = Guard { fence: Some(fence), ..Guard::default() };
            let unclaim = Unclaim { id: one.id.clone(), guard, reason, ..Unclaim::default() };
            // The claim may have ended in the meantime.
            let _ = self.ask(&self.globals.with_actor(holder), Call::one(Op::Unclaim(unclaim)));
        }
    }

    /// Releases the claims of the session, including those of its MCP server, which may go on to serve the
    /// next session.
    fn end(&self) -> Result<(), Failure> {
        let Some(ended) = self.payload.session() else { return Ok(()) };
        Reminders::new(&self.place.store_dir()).forget(&self.reminder_key()?);
        for session in self.sessions()?.into_iter().filter(|session| session.is_ours && session.id != ended) {
            let fences: Vec<Fence> =
                session.claims.iter().filter_map(|held| held.fence.parse().ok()).collect();
            if !fences.is_empty() {
                let server = self.globals.with_session(Some(session.id));
                self.ask(&server, Call::EndSession { keep: false, fences })?;
            }
        }
        self.ask(self.globals, Call::EndSession { keep: false, fences: Vec::new() }).map(drop)
    }

    fn subagent_instructions(&self) -> Result<Option<String>, Failure> {
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

/// Returns whether a holder is the agent itself. A subagent has a `/name` after the host.
fn is_main_agent(holder: &str, actor: &Actor) -> bool {
    let host = holder.split_once('@').map_or(holder, |(_, host)| host);
    holder == actor.as_str() || !host.contains('/')
}

/// Returns the reminder, with commands for the interface (`bd` or MCP) that the agent claimed through.
fn reminder(held: &[&Held], actor: &Actor) -> String {
    let named: Vec<String> = held
        .iter()
        .take(MAX_LISTED)
        .map(|one| format!("{} ({})", escape(&one.id), escape(&one.title)))
        .collect();
    let more = match held.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let id = escape(&held[0].id);
    let (finish, release) = match command_for(&held[0].holder, actor) {
        Some(bd) => {
            let release = format!("{bd} note add {id} \"…\"; {bd} unclaim {id} --reason \"…\"");
            (format!("{bd} close {id} --reason \"…\""), release)
        }
        None => {
            let release = json!({"id": id, "outcome": "release", "reason": "…"});
            (format!("done {}", json!({"id": id, "reason": "…"})), format!("note, then done {release}"))
        }
    };
    format!(
        "You still hold {}{more}. Finish it ({finish}), or note what is left and release it ({release}). To keep it, just stop again.",
        named.join(", ")
    )
}

/// Returns the `bd` command to act as a holder, or `None` if only the MCP server knows that holder.
fn command_for(holder: &str, actor: &Actor) -> Option<String> {
    match holder.strip_prefix(actor.as_str())? {
        "" => Some("bd".to_owned()),
        rest => rest.starts_with('/').then(|| format!("bd --actor '{}'", escape(holder))),
    }
}
