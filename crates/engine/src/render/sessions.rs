//! Sessions and what they hold.

use std::fmt::Write;

use beads_core::{Actor, BeadId, Title};
use schemars::JsonSchema;
use serde::Serialize;

use super::style::Style;
use crate::escape::escape;
use crate::session_id::SessionId;

/// `bd heartbeat`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HeartbeatAnswer {
    /// Null for a caller whose session is not known.
    pub session: Option<SessionId>,
    pub actor: Actor,
    /// How long a claim lasts.
    pub lease_ms: u64,
    /// How many leases were renewed: those of which a third is over.
    pub renewed: usize,
    /// What the session holds.
    pub held: Vec<HeldAnswer>,
}

/// A claim that stands.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HeldAnswer {
    pub id: BeadId,
    pub title: Title,
    pub holder: Actor,
    pub fence: String,
    pub expires: Option<String>,
}

/// One of `bd session list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionAnswer {
    pub session: SessionId,
    /// `live`, `silent` (not heard from for a minute) or `ended`.
    pub state: &'static str,
    /// When it was last heard from.
    pub last_seen: String,
    pub claims: Vec<HeldAnswer>,
}

/// A claim whose session was not heard from for a minute or more.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SilentClaim {
    pub id: BeadId,
    pub holder: Actor,
    pub session: SessionId,
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
            state => format!("{state} since {}", session.last_seen),
        };
        let _ = writeln!(out, "{}  {state}", style.bold(&escape(session.session.as_str())));
        for claim in &session.claims {
            let (title, holder) = (escape(claim.title.as_str()), escape(claim.holder.as_str()));
            let until = claim.expires.as_deref().unwrap_or_default();
            let _ = writeln!(out, "  {}  {title}  @{holder} until {until}", style.id(claim.id.as_str()));
        }
    }
}

pub(super) fn silent(out: &mut String, silent: &[SilentClaim]) {
    for claim in silent {
        let (id, holder, since) = (&claim.id, escape(claim.holder.as_str()), &claim.since);
        let _ = writeln!(out, "{id} is held by {holder}, silent since {since}: bd claim {id} --take-over");
    }
}
