//! What an agent should know at the beginning of a session, in a few lines.

use std::time::{Duration, Instant};

use beads_core::Actor;
use beads_core::query::{Filter, StatusFilter};
use beads_engine::client::Access;
use beads_engine::escape::escape;
use beads_engine::failure::Failure;
use beads_engine::place::Place;
use beads_engine::request::{Call, Query};
use serde_json::Value;

use super::globals::Globals;
use crate::agent::mailbox;

/// A start hook never keeps its session waiting for a store that does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tokens for the beads that are held and for the keys of memories, so that all of `bd prime` stays within 400.
const HELD_TOKENS: usize = 60;
const MEMORY_TOKENS: usize = 45;

/// Longer names and titles are cut.
const ACTOR_CHARS: usize = 40;
const TITLE_CHARS: usize = 40;

/// Where an actor stands.
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
    /// Asks the store.
    pub fn of(globals: &Globals, place: &Place) -> Result<Self, Failure> {
        let (access, give_up) = (globals.access(), Instant::now() + PATIENCE);
        let ask = |call| {
            let left = give_up.saturating_duration_since(Instant::now());
            let access = Access { lock_timeout: access.lock_timeout.min(left), ..access.clone() };
            globals.value_through::<Value>(place, call, &access)
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
            Some(_) => ask(Call::ConflictList { all: false })?,
        };
        Ok(Self {
            held: items(&held).map(held_line).collect(),
            ready: status["summary"]["ready_issues"].as_u64().unwrap_or_default(),
            unread: mailbox::unread(&globals.directory()?, &actor),
            conflicts: items(&conflicts).filter(|conflict| is_lost_by(conflict, &actor)).count(),
            memories: items(&memories).map(|memory| text(memory, "key").into_owned()).collect(),
            actor: cut(&escape(actor.as_str()), ACTOR_CHARS),
        })
    }

    /// Renders it in at most about 150 tokens.
    pub fn text(&self) -> String {
        let mut out = format!("You are {}. ", self.actor);
        out += &match listed(&self.held, HELD_TOKENS) {
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
            out += &format!("Memories (`bd recall KEY`): {}.\n", listed(&self.memories, MEMORY_TOKENS));
        }
        out
    }
}

/// Whether a write of the actor lost against a concurrent one.
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
    format!("{} {}{until}", text(bead, "id"), cut(&text(bead, "title"), TITLE_CHARS))
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// Lists as many as the budget takes, and counts the others.
fn listed(all: &[String], budget: usize) -> String {
    let mut left = budget;
    let fits = |one: &&String| {
        let cost = most_tokens(one) + 1;
        let fits = cost <= left;
        left = left.saturating_sub(cost);
        fits
    };
    let shown: Vec<&str> = all.iter().take_while(fits).map(String::as_str).collect();
    match all.len() - shown.len() {
        0 => shown.join(", "),
        rest if shown.is_empty() => rest.to_string(),
        rest => format!("{} and {rest} more", shown.join(", ")),
    }
}

/// An upper bound for the tokens of a text: three characters of a word make two at most, others one for each byte.
fn most_tokens(text: &str) -> usize {
    let word = text.chars().filter(char::is_ascii_alphanumeric).count();
    (word * 2).div_ceil(3) + (text.len() - word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_within_their_budget() {
        let keys: Vec<String> = (0..100).map(|n| format!("key-{n}")).collect();
        let shown = listed(&keys, 30);
        assert!(shown.starts_with("key-0, key-1") && shown.ends_with(" more"), "{shown}");
        assert!(most_tokens(&shown) < 50, "{shown}");
        assert_eq!(listed(&["x".repeat(500)], 30), "1");
        assert_eq!(listed(&keys[..2], 30), "key-0, key-1");
    }
}
