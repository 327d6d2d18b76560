//! `bb agent inbox`

use std::cmp::Reverse;

use clap::Args;
use serde::Deserialize;

use super::agent_id::AgentId;
use super::bounds::{INBOX_LIMIT, INBOX_LIMIT_DEFAULT};
use super::error::{Error, Reason, Result};
use super::message::{Message, MessageState};
use super::store::Store;

/// List the messages to an agent, newest first
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inbox {
    /// Recipient
    #[arg(long, env = "BB_AGENT", hide_env_values = true, value_name = "AGENT_ID")]
    pub agent: String,
    /// Only messages in this state
    #[arg(long, value_name = "unread|read|acked")]
    #[serde(default)]
    pub state: Option<String>,
    /// Only messages about this bead
    #[arg(long, value_name = "BEAD_ID")]
    #[serde(default)]
    pub bead: Option<String>,
    /// Maximum number of messages, 1 to 500 [default: 50]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[serde(default)]
    pub limit: Option<i64>,
}

pub fn inbox(store: &Store, input: &Inbox) -> Result<Vec<Message>> {
    let id = AgentId::parse(&input.agent)?;
    let state = input.state.as_deref().map(MessageState::parse).transpose()?;
    let limit = input.limit.unwrap_or(INBOX_LIMIT_DEFAULT);
    let Some(limit) = usize::try_from(limit).ok().filter(|_| INBOX_LIMIT.contains(&limit)) else {
        let message = format!("Limit must be {} to {}.", INBOX_LIMIT.start(), INBOX_LIMIT.end());
        return Err(Error::invalid(Reason::InvalidLimit, message));
    };

    newest_first(store, &id, state, input.bead.as_deref(), limit)
}

/// Returns all unread messages of an agent, without a limit.
pub fn unread(store: &Store, id: &AgentId) -> Result<Vec<Message>> {
    newest_first(store, id, Some(MessageState::Unread), None, usize::MAX)
}

fn newest_first(
    store: &Store,
    id: &AgentId,
    state: Option<MessageState>,
    bead: Option<&str>,
    limit: usize,
) -> Result<Vec<Message>> {
    let session = store.read()?;
    session.mark_seen(id)?;
    let mut sent = session.sent_to(id)?;
    // Of messages sent in the same millisecond, the last one comes first.
    sent.reverse();
    sent.sort_by_key(|message| Reverse(message.created_at));
    let bead = bead.map(str::trim).filter(|bead| !bead.is_empty());
    let about = |message: &Message| bead.is_none_or(|bead| bead == message.bead_id);
    let current = session.readable(sent.iter().filter(|message| about(message)));
    Ok(current.filter(|message| state.is_none_or(|state| state == message.state)).take(limit).collect())
}
