//! `bb agent ack`

use clap::Args;
use serde::Deserialize;

use super::addressed::message_to;
use super::error::{Code, Error, Result};
use super::message::{Message, MessageState};
use super::store::Store;

/// Acknowledge a message (repeating it has no effect)
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
    let (session, mut message) = message_to(store, &input.agent, &input.message, |id| {
        Error::new(Code::AckForbidden, format!("Only its recipient may acknowledge message '{id}'."))
    })?;
    if message.state != MessageState::Acked {
        message.state = MessageState::Acked;
        message.read_at.get_or_insert(session.now);
        message.acked_at.get_or_insert(session.now);
        session.save_message(&message)?;
    }
    Ok(message)
}
