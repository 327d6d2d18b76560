//! Finds a message for its recipient.

use super::agent_id::AgentId;
use super::error::{Error, Result};
use super::message::{Message, MessageId};
use super::store::{Session, Store};

/// Opens the store for `agent` and finds a message to it. Refuses other agents with `forbidden`.
pub fn message_to<'a>(
    store: &'a Store,
    agent: &str,
    message: &str,
    forbidden: impl FnOnce(&MessageId) -> Error,
) -> Result<(Session<'a>, Message)> {
    let id = AgentId::parse(agent)?;
    let message_id = MessageId::parse(message)?;
    let session = store.write()?;
    session.mark_seen(&id)?;
    let message = session.find_message(&message_id)?.ok_or_else(|| message_id.not_found())?;
    if message.to_agent == id { Ok((session, message)) } else { Err(forbidden(&message_id)) }
}
