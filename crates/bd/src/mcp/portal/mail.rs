use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Caller, PortalCall};
use crate::agent::agent_id::AgentId;
use crate::agent::error::Code;
use crate::agent::store::Store;
use crate::agent::{ack, inbox, mailbox, register, send};
use crate::mcp::lines::{Lines, command};

/// Messages listed per call.
const SHOWN: usize = 5;

/// Read your mail; to sends, ack acknowledges.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mail {
    /// Agent, role:ROLE or broadcast
    to: Option<String>,
    subject: String,
    body: String,
    /// Bead it is about; default: yours
    bead: Option<String>,
    /// HANDOFF, BLOCKED, DECISION or INFO
    category: Option<String>,
    /// Message id
    ack: Option<String>,
    /// How many to skip
    offset: usize,
}

impl PortalCall for Mail {
    fn execute(self, caller: Caller<'_>) -> Result<Lines, Failure> {
        let store = mailbox::store(caller.session.directory())?;
        let agent = mailbox::address(caller.actor)?;
        ensure_registered(&store, &agent)?;
        match (&self.to, &self.ack) {
            (Some(_), Some(_)) => Err(Failure::usage("give either to (send) or ack (acknowledge), not both")),
            (Some(to), None) => self.send(caller, &store, &agent, to),
            (None, Some(message)) => {
                let input = ack::Ack { agent: agent.to_string(), message: message.clone() };
                let acked = ack::ack(&store, &input)?;
                Ok(Lines::state(format!("acked {}", acked.message_id)).then("mail".to_owned()))
            }
            (None, None) => read(&store, &agent, self.offset),
        }
    }
}

impl Mail {
    fn send(&self, caller: Caller<'_>, store: &Store, agent: &AgentId, to: &str) -> Result<Lines, Failure> {
        let bead = caller.session.target(caller.actor, self.bead.as_deref())?;
        let message = send::Send {
            from: agent.to_string(),
            to: to.to_owned(),
            bead: Some(bead),
            category: self.category.clone().unwrap_or_else(|| "INFO".to_owned()),
            subject: self.subject.clone(),
            body: if self.body.trim().is_empty() { self.subject.clone() } else { self.body.clone() },
            thread: None,
        };
        let sent = send::send(store, &message)?;
        let copies = sent.message_ids.as_ref().map_or(1, Vec::len);
        Ok(Lines::state(format!("sent {} to {copies} agent(s)", sent.message.message_id))
            .then("status".to_owned()))
    }
}

/// Lists unread messages, newest first.
fn read(store: &Store, agent: &AgentId, offset: usize) -> Result<Lines, Failure> {
    let unread = inbox::unread(store, agent)?;
    let Some(first) = unread.get(offset) else {
        return Ok(Lines::state(format!("no mail for {agent}")).then("status".to_owned()));
    };
    let ack = command("mail", &json!({"ack": first.message_id}));
    let mut lines = Lines::state(format!("{} unread for {agent}", unread.len())).then(ack);
    for (index, message) in unread.iter().enumerate().skip(offset).take(SHOWN) {
        let (id, category, bead) = (&message.message_id, message.category.as_str(), &message.bead_id);
        let mut text = format!("{id} {category} from {} on {bead}: {}", message.from_agent, message.subject);
        if message.body != message.subject {
            text += &format!("\n{}", message.body);
        }
        let end = index + 1;
        lines.add_row(&text, (end < unread.len()).then(|| ("mail", json!({"offset": end}))));
    }
    Ok(lines)
}

/// Counts unread messages; 0 for an actor that never used mail.
pub fn unread(caller: Caller<'_>) -> usize {
    mailbox::unread(caller.session.directory(), caller.actor)
}

/// Registers the agent on its first call, because mail needs an address.
fn ensure_registered(store: &Store, agent: &AgentId) -> Result<(), Failure> {
    let input =
        register::Register { name: agent.to_string(), role: "agent".to_owned(), ..Default::default() };
    match register::register(store, &input) {
        Err(error) if error.code == Code::DuplicateAgentId => Ok(()),
        registered => Ok(registered.map(drop)?),
    }
}
