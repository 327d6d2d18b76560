//! `bb agent read`

use clap::Args;
use serde::Deserialize;

use super::addressed::message_to;
use super::error::{Code, Error, Reason, Result};
use super::message::{Message, MessageState};
use super::store::Store;

/// Mark a message as read
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// Recipient
    #[arg(long, env = "BB_AGENT", hide_env_values = true, value_name = "AGENT_ID")]
    pub agent: String,
    /// Message
    #[arg(long, value_name = "MESSAGE_ID")]
    pub message: String,
}

pub fn read(store: &Store, input: &Read) -> Result<Message> {
    let (session, mut message) = message_to(store, &input.agent, &input.message, |id| {
        // The contract has no separate code for this.
        let message = format!("Only its recipient may read message '{id}'.");
        Error::new(Code::AckForbidden, message).with_reason(Reason::ReadForbidden)
    })?;
    if message.state == MessageState::Unread {
        message.state = MessageState::Read;
        message.read_at.get_or_insert(session.now);
        session.save_message(&message)?;
    }
    Ok(message)
}
