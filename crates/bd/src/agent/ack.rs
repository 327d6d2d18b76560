//! `bb agent ack`

use clap::Args;
use serde::Deserialize;

use super::agent_id::AgentId;
use super::error::{Code, Error, Result};
use super::message::{Message, MessageId, MessageState};
use super::store::Store;

/// Acknowledge a message; the first time counts
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// Recipient
    #[arg(long, env = "BB_AGENT", hide_env_values = true, value_name = "AGENT_ID")]
    pub agent: String,
    /// Message
    #[arg(long, value_name = "MESSAGE_ID")]
    pub message: String,
}

pub fn ack(store: &Store, input: &Ack) -> Result<Message> {
    let id = AgentId::parse(&input.agent)?;
    let message_id = MessageId::parse(&input.message)?;
    let session = store.write()?;
    session.acting(&id)?;
    let mut message = session.find_message(&message_id)?.ok_or_else(|| message_id.not_found())?;
    if message.to_agent != id {
        let message = format!("Only its recipient may acknowledge message '{message_id}'.");
        return Err(Error::new(Code::AckForbidden, message));
    }
    if message.state != MessageState::Acked {
        message.state = MessageState::Acked;
        message.read_at.get_or_insert(session.now);
        message.acked_at.get_or_insert(session.now);
        session.save_message(&message)?;
    }
    Ok(message)
}
