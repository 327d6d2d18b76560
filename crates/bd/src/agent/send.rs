//! `bb agent send`

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::agent_id::{AgentId, BROADCAST};
use super::bead_id::bead_id;
use super::bounds::{BODY_MAX, SUBJECT_MAX, THREAD_ID_MAX};
use super::error::{Code, Error, Reason, Result};
use super::message::{Category, Message, MessageId, MessageState};
use super::store::{Session, Store};

/// Send a message about a bead
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// Sender
    #[arg(long, env = "BB_AGENT", hide_env_values = true, value_name = "AGENT_ID")]
    pub from: String,
    /// Recipient: an agent, `broadcast` for all other agents, or `role:ROLE`
    #[arg(long, value_name = "AGENT_ID|broadcast|role:ROLE")]
    pub to: String,
    /// Bead the message is about (required)
    #[arg(long, value_name = "BEAD_ID")]
    #[serde(default)]
    pub bead: Option<String>,
    /// HANDOFF and BLOCKED require an acknowledgement; DECISION and INFO do not
    #[arg(long, value_name = "HANDOFF|BLOCKED|DECISION|INFO")]
    pub category: String,
    /// Subject line
    #[arg(long)]
    pub subject: String,
    /// Message text
    #[arg(long)]
    pub body: String,
    /// Thread (default: `bead:<BEAD_ID>`)
    #[arg(long, value_name = "THREAD_ID")]
    #[serde(default)]
    pub thread: Option<String>,
}

/// The message that was sent; to several recipients, the first copy with the ids of all copies.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Sent {
    #[serde(flatten)]
    pub message: Message,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_ids: Option<Vec<MessageId>>,
}

pub fn send(store: &Store, input: &Send) -> Result<Sent> {
    // Unlike other commands, this one checks the sender and the recipient before the rest of its input.
    let session = store.write()?;
    let from = sender(&session, &input.from)?;
    let to = recipients(&session, &input.to, &from)?;
    let draft = draft(&session, input, &from)?;

    let messages = match &to {
        To::One(id) => {
            let message_id = session.mint_message_id(&[])?;
            vec![Message { message_id, to_agent: id.clone(), ..draft }]
        }
        To::Many(ids) => {
            let base = session.mint_message_id(ids)?;
            let copy = |id: &AgentId| {
                Ok(Message { message_id: base.copy_for(id)?, to_agent: id.clone(), ..draft.clone() })
            };
            ids.iter().map(copy).collect::<Result<_>>()?
        }
    };
    let message_ids = match to {
        To::One(_) => None,
        To::Many(_) => Some(messages.iter().map(|message| message.message_id.clone()).collect()),
    };
    let first = messages.first().cloned();
    session.deliver(messages)?;
    first
        .map(|message| Sent { message, message_ids })
        .ok_or_else(|| no_recipients("No other agent is registered."))
}

enum To {
    One(AgentId),
    /// At least one.
    Many(Vec<AgentId>),
}

fn sender(session: &Session<'_>, given: &str) -> Result<AgentId> {
    let unknown = |why: Error| match why.code {
        Code::InvalidArgs | Code::AgentNotFound => {
            let message = format!("Sender '{}' is not registered.", given.trim());
            Error { reason: why.reason, ..Error::new(Code::UnknownSender, message) }
        }
        _ => why,
    };
    let id = AgentId::parse(given).map_err(unknown)?;
    session.mark_seen(&id).map_err(unknown)?;
    Ok(id)
}

fn recipients(session: &Session<'_>, given: &str, from: &AgentId) -> Result<To> {
    let given = given.trim();
    let role = given.strip_prefix("role:").map(str::trim);
    if given == BROADCAST || role.is_some() {
        let others = session.agents()?.into_iter().filter(|agent| agent.agent_id != *from);
        let matching = others.filter(|agent| role.is_none_or(|role| agent.role == role));
        let ids: Vec<AgentId> = matching.map(|agent| agent.agent_id).collect();
        return match (ids.is_empty(), role) {
            (false, _) => Ok(To::Many(ids)),
            (true, None) => Err(no_recipients("No other agent is registered.")),
            (true, Some(role)) => Err(no_recipients(&format!("No other agent has the role '{role}'."))),
        };
    }
    let unknown = |reason| {
        let message = format!("Recipient '{given}' is not registered.");
        Error { reason, ..Error::new(Code::UnknownRecipient, message) }
    };
    let id = AgentId::parse(given).map_err(|why| unknown(why.reason))?;
    session.find_agent(&id)?.ok_or_else(|| unknown(None))?;
    Ok(To::One(id))
}

fn no_recipients(message: &str) -> Error {
    Error::new(Code::UnknownRecipient, message).with_reason(Reason::NoRecipients)
}

/// Builds the message with a placeholder id and recipient, which each copy replaces.
fn draft(session: &Session<'_>, input: &Send, from: &AgentId) -> Result<Message> {
    let bead_id = bead_id(input.bead.as_deref())?;
    let category = Category::parse(&input.category)?;
    check_text("Subject", &input.subject, SUBJECT_MAX)?;
    check_text("Body", &input.body, BODY_MAX)?;
    let thread = input.thread.as_deref().map(str::trim).filter(|thread| !thread.is_empty());
    let thread_id = thread.map_or_else(|| format!("bead:{bead_id}"), str::to_owned);
    if thread_id.len() > THREAD_ID_MAX {
        let message = format!("A thread id has at most {THREAD_ID_MAX} bytes.");
        return Err(Error::invalid(Reason::InvalidThread, message));
    }
    Ok(Message {
        message_id: MessageId::parse("msg_draft")?,
        thread_id,
        bead_id,
        from_agent: from.clone(),
        to_agent: from.clone(),
        category,
        subject: input.subject.clone(),
        body: input.body.clone(),
        state: MessageState::Unread,
        requires_ack: category.requires_ack(),
        created_at: session.now,
        read_at: None,
        acked_at: None,
        unknown_fields: Map::new(),
    })
}

fn check_text(what: &str, text: &str, max: usize) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid(Reason::InvalidMessage, format!("{what} must not be empty.")));
    }
    if text.len() > max {
        return Err(Error::invalid(Reason::InvalidMessage, format!("{what} is longer than {max} bytes.")));
    }
    Ok(())
}
