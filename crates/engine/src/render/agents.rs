//! Renders the actors of a store, and its log.

use std::fmt::Write;

use beads_core::query::{HeldBead, Worker};
use beads_core::{Event, counted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recap::duration;
use super::style::Style;
use crate::escape::escape;

/// The output of `bd activity`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ActivityAnswer {
    /// The events, newest last.
    pub events: Vec<Event>,
    /// Whether the local event log covers the period. Otherwise older events are missing.
    pub complete: bool,
}

/// A row of `bd agents`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AgentAnswer {
    /// The actor, what it holds and what it did in the period.
    #[serde(flatten)]
    pub worker: Worker,
    /// Its mail and reservations; null if it is not registered with `bb agent`.
    pub mail: Option<AgentMail>,
}

/// The mail and reservations of an agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AgentMail {
    /// The agent's id in `bb agent`.
    pub agent: String,
    /// The number of unread messages.
    pub unread: usize,
    /// The scopes it has reserved.
    pub reservations: Vec<String>,
}

pub(super) fn list(out: &mut String, agents: &[AgentAnswer], style: Style) {
    for AgentAnswer { worker, mail } in agents {
        let seen = worker.last_seen.as_deref().map(|time| style.time(time, Style::ago));
        let seen = seen.unwrap_or_else(|| "never".to_owned());
        let name = style.bold(&escape(worker.actor.as_str()));
        let busy =
            if worker.busy_ms > 0 { format!(" in {}", duration(worker.busy_ms)) } else { String::new() };
        let (state, closed) = (worker.state.as_str(), worker.closed);
        let line = format!("{name}  {state}, {closed} closed{busy}, last seen {seen}");
        let _ = writeln!(out, "{}", style.wrapped(&line, "  "));
        worker.holds.iter().for_each(|one| held(out, one, style));
        for session in &worker.sessions {
            let gone = if session.gone { "ended" } else { "last call" };
            let seen = style.time(&session.last_seen, Style::ago);
            let line = format!("  session {}, {gone} {seen}", escape(&session.session));
            let _ = writeln!(out, "{}", style.wrapped(&line, "    "));
        }
        let Some(mail) = mail else { continue };
        if mail.unread > 0 {
            let _ = writeln!(out, "  {}", counted(mail.unread, "unread message"));
        }
        if !mail.reservations.is_empty() {
            let line = format!("  reserved {}", escape(&mail.reservations.join(", ")));
            let _ = writeln!(out, "{}", style.wrapped(&line, "    "));
        }
    }
}

fn held(out: &mut String, one: &HeldBead, style: Style) {
    let (id, title) = (style.id(one.id.as_str()), escape(one.title.as_str()));
    let how = if one.offered { "offered" } else { "held" };
    let until = match (&one.expires, one.expired) {
        (Some(end), true) => format!(", expired {}", style.time(end, Style::ago)),
        (Some(end), false) => format!(", until {}", style.time(end, Style::at)),
        (None, _) => String::new(),
    };
    let line = format!("  {id}  {title}, {how} since {}{until}", style.time(&one.since, Style::at));
    let _ = writeln!(out, "{}", style.wrapped(&line, "    "));
}

/// Writes who works on what, for `bd status`.
pub(super) fn working(out: &mut String, held: &[HeldBead], style: Style) {
    for one in held {
        let (id, holder, since) = (&one.id, escape(one.holder.as_str()), style.time(&one.since, Style::at));
        let title = escape(one.title.as_str());
        let _ = match (one.expired, one.offered) {
            (true, true) => writeln!(out, "the offer of {id} to {holder} has expired: {title}"),
            (true, false) => {
                writeln!(out, "the lease of {holder} on {id} has ended (since {since}): {title}")
            }
            (false, true) => writeln!(out, "{id} is offered to {holder} since {since}: {title}"),
            (false, false) => writeln!(out, "{holder} works on {id} since {since}: {title}"),
        };
    }
}
