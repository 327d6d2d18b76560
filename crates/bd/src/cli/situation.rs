//! A summary for an agent at the start of a session: its claims, ready work, mail, conflicts and memories.

use std::time::{Duration, Instant};

use beads_core::Actor;
use beads_core::query::{Filter, StatusFilter};
use beads_engine::client::Access;
use beads_engine::escape::escape;
use beads_engine::failure::Failure;
use beads_engine::place::Place;
use beads_engine::render::token_budget::{list_within, truncate};
use beads_engine::request::{Call, Query};
use serde_json::Value;

use super::globals::Globals;
use crate::agent::mailbox;

/// Bounds how long a start hook delays its session when the store does not answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Token budgets for claimed beads and memory keys, so that `bd prime` stays within 400 tokens.
const HELD_TOKENS: usize = 60;
const MEMORY_TOKENS: usize = 45;

/// Longer names and titles are truncated.
const ACTOR_CHARS: usize = 40;
const TITLE_CHARS: usize = 40;

/// The situation of an actor.
#[derive(Debug, Default)]
pub struct Situation {
    actor: String,
    held: Vec<String>,
    ready: u64,
    unread: usize,
    conflicts: usize,
    memories: Vec<String>,
}

impl Situation {
    /// Queries the store.
    pub fn of(globals: &Globals, place: &Place) -> Result<Self, Failure> {
        let (access, deadline) = (globals.access(), Instant::now() + TIMEOUT);
        let ask = |call| {
            let left = deadline.saturating_duration_since(Instant::now());
            let access = Access { lock_timeout: access.lock_timeout.min(left), ..access.clone() };
            globals.value_with::<Value>(place, call, &access)
        };
        let actor = globals.actor(place)?;
        let status = ask(Call::query(Query::Status))?;
        let held = Filter {
            assignee: Some(actor.clone()),
            status: vec![StatusFilter::InProgress],
            ..Filter::default()
        };
        let held = ask(Call::query(Query::List(held)))?;
        let memories = match status["memories"].as_u64() {
            None | Some(0) => Value::Null,
            Some(_) => ask(Call::query(Query::Memories { asked: None, brief: true }))?,
        };
        let conflicts = match status["sync"]["conflicts"].as_u64() {
            None | Some(0) => Value::Null,
            Some(_) => ask(Call::ConflictList { all: false, bead: None })?,
        };
        Ok(Self {
            held: items(&held).map(held_line).collect(),
            ready: status["summary"]["ready_issues"].as_u64().unwrap_or_default(),
            unread: mailbox::unread(&globals.directory()?, &actor),
            conflicts: items(&conflicts).filter(|conflict| is_lost_by(conflict, &actor)).count(),
            memories: items(&memories).map(|memory| text(memory, "key").into_owned()).collect(),
            actor: truncate(&escape(actor.as_str()), ACTOR_CHARS),
        })
    }

    /// Renders the situation in at most about 150 tokens.
    pub fn text(&self) -> String {
        let mut out = format!("You are {}. ", self.actor);
        out += &match list_within(&self.held, HELD_TOKENS) {
            held if held.is_empty() => format!("You hold nothing. {} ready.", self.ready),
            held => format!("You hold {held}. {} ready.", self.ready),
        };
        if self.unread > 0 {
            out += &format!(" Unread mail: {} (`bb agent inbox`).", self.unread);
        }
        if self.conflicts > 0 {
            out += &format!(" Your overwritten values: {} (`bd conflicts list`).", self.conflicts);
        }
        out.push('\n');
        if !self.memories.is_empty() {
            out += &format!("Memories (`bd recall KEY`): {}.\n", list_within(&self.memories, MEMORY_TOKENS));
        }
        out
    }
}

/// Returns whether the conflict overwrote a value that the actor wrote.
fn is_lost_by(conflict: &Value, actor: &Actor) -> bool {
    conflict["by"].as_str() == Some(actor.as_str())
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text<'a>(value: &'a Value, field: &str) -> std::borrow::Cow<'a, str> {
    escape(value[field].as_str().unwrap_or_default())
}

fn held_line(bead: &Value) -> String {
    let expires = bead["assignee_expires"].as_str().unwrap_or_default();
    let until = match (expires.get(..10), expires.get(11..16)) {
        (Some(day), Some(time)) => format!(" (until {day} {time}Z)"),
        _ => String::new(),
    };
    format!("{} {}{until}", text(bead, "id"), truncate(&text(bead, "title"), TITLE_CHARS))
}
