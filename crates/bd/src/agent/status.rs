//! `bb agent status`

use std::cmp::Reverse;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent_id::AgentId;
use super::error::Result;
use super::message::{Message, MessageState};
use super::reservation::{Reservation, ReservationState};
use super::store::{Session, Store};

/// Show active reservations and messages that need an acknowledgement
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Status {
    /// Only reservations and messages about this bead
    #[arg(long, value_name = "BEAD_ID")]
    pub bead: Option<String>,
    /// Only reservations held by, and messages to, this agent
    #[arg(long, value_name = "AGENT_ID")]
    pub agent: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StatusReport {
    /// Not expired, oldest first.
    pub reservations: Vec<Reservation>,
    /// Newest first.
    pub unacked_required_messages: Vec<Message>,
    pub summary: Summary,
}

/// Counts by state: of reservations, then of messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Summary {
    pub active: usize,
    pub released: usize,
    /// Expired, whether or not taken over.
    pub expired: usize,
    pub unread: usize,
    pub read: usize,
    pub acked: usize,
    pub unacked_required_messages: usize,
}

pub fn status(store: &Store, input: &Status) -> Result<StatusReport> {
    let agent = input.agent.as_deref().map(AgentId::parse).transpose()?;
    let bead = input.bead.as_deref().map(str::trim).filter(|bead| !bead.is_empty());
    let about = |bead_id: &str| bead.is_none_or(|bead| bead == bead_id);

    let session = store.read()?;
    session.mark_caller_seen();
    if let Some(id) = &agent {
        session.agent(id)?;
    }
    let mut summary = Summary::default();
    let matches = |held: &Reservation| {
        about(&held.bead_id) && agent.as_ref().is_none_or(|agent| *agent == held.agent_id)
    };
    for ended in session.history()?.iter().filter(|ended| matches(ended)) {
        match ended.state {
            ReservationState::Released => summary.released += 1,
            ReservationState::Expired | ReservationState::Active => summary.expired += 1,
        }
    }
    let matching = session.reservations()?.into_iter().filter(matches);
    let (expired, mut reservations): (Vec<_>, Vec<_>) =
        matching.partition(|held| held.is_expired(session.now));
    reservations.sort_by_key(|held| held.created_at);
    summary.expired += expired.len();
    summary.active = reservations.len();

    let mut waiting = messages(&session, agent.as_ref(), about, &mut summary)?;
    waiting.sort_by_key(|message| Reverse(message.created_at));
    summary.unacked_required_messages = waiting.len();
    Ok(StatusReport { reservations, unacked_required_messages: waiting, summary })
}

/// Counts the messages by state and returns those that need an acknowledgement. For one agent it reads only
/// that agent's files, so that damage to others does not matter.
fn messages(
    session: &Session<'_>,
    agent: Option<&AgentId>,
    about: impl Fn(&str) -> bool,
    summary: &mut Summary,
) -> Result<Vec<Message>> {
    let recipients = match agent {
        Some(id) => vec![id.clone()],
        None => session.recipients()?,
    };
    let mut waiting = Vec::new();
    for id in recipients {
        let sent = session.sent_to(&id)?;
        for message in session.readable(sent.iter().rev().filter(|sent| about(&sent.bead_id))) {
            match message.state {
                MessageState::Unread => summary.unread += 1,
                MessageState::Read => summary.read += 1,
                MessageState::Acked => summary.acked += 1,
            }
            waiting.extend(Some(message).filter(Message::awaits_ack));
        }
    }
    Ok(waiting)
}
