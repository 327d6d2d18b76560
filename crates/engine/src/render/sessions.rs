//! Sessions and their claims.

use std::fmt::Write;

use beads_core::{Actor, BeadId, Title};
use schemars::JsonSchema;
use serde::Serialize;

use super::style::Style;
use crate::escape::escape;
use crate::session_id::SessionId;

/// The output of `bd heartbeat`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HeartbeatAnswer {
    /// The session; null when it is not known.
    pub session: Option<SessionId>,
    /// The actor.
    pub actor: Actor,
    /// How long a claim lasts.
    pub lease_ms: u64,
    /// How many leases were renewed. A lease is renewed once a third of it is over.
    pub renewed: usize,
    /// The session's claims.
    pub held: Vec<HeldAnswer>,
}

/// An active claim.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HeldAnswer {
    /// The bead.
    pub id: BeadId,
    /// The title of the bead.
    pub title: Title,
    /// The holder.
    pub holder: Actor,
    /// The fence.
    pub fence: String,
    /// When the lease ends.
    pub expires: Option<String>,
}

/// A row of `bd session list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionAnswer {
    /// The session.
    pub session: SessionId,
    /// `live`, `silent` (no call for a minute) or `ended`.
    pub state: &'static str,
    /// The time of its last call.
    pub last_seen: String,
    /// Its claims.
    pub claims: Vec<HeldAnswer>,
}

/// A claim whose session has been silent for a minute or more.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SilentClaim {
    /// The bead.
    pub id: BeadId,
    /// The holder.
    pub holder: Actor,
    /// The session.
    pub session: SessionId,
    /// The time of its last call.
    pub since: String,
}

pub(super) fn heartbeat(out: &mut String, answer: &HeartbeatAnswer) {
    let who = escape(answer.actor.as_str());
    let session = answer.session.as_ref().map(|session| format!(" in session {}", escape(session.as_str())));
    let held = match answer.held.len() {
        0 => "nothing".to_owned(),
        _ => answer.held.iter().map(|held| held.id.to_string()).collect::<Vec<_>>().join(", "),
    };
    let _ = writeln!(out, "{who}{} holds {held}", session.unwrap_or_default());
}

pub(super) fn list(out: &mut String, sessions: &[SessionAnswer], style: Style) {
    for session in sessions {
        let state = match session.state {
            "live" => "live".to_owned(),
            state => format!("{state} since {}", style.time(&session.last_seen, Style::at)),
        };
        let _ = writeln!(out, "{}  {state}", style.bold(&escape(session.session.as_str())));
        for claim in &session.claims {
            let (title, holder) = (escape(claim.title.as_str()), escape(claim.holder.as_str()));
            let until = style.time(claim.expires.as_deref().unwrap_or_default(), Style::at);
            let _ = writeln!(out, "  {}  {title}  @{holder} until {until}", style.id(claim.id.as_str()));
        }
    }
}

pub(super) fn silent(out: &mut String, silent: &[SilentClaim], style: Style) {
    for claim in silent {
        let (id, holder) = (&claim.id, escape(claim.holder.as_str()));
        let since = style.time(&claim.since, Style::at);
        let _ = writeln!(out, "{id} is held by {holder}, silent since {since}: bd claim {id} --take-over");
    }
}
