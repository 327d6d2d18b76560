//! A message: `messages/index/<message_id>.json`, and as sent, one line of the recipient's log (contract §6).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::agent_id::AgentId;
use super::bounds::MESSAGE_ID_MAX;
use super::error::{Code, Error, Reason, Result};
use super::moment::Moment;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    pub message_id: MessageId,
    pub thread_id: String,
    pub bead_id: String,
    pub from_agent: AgentId,
    pub to_agent: AgentId,
    pub category: Category,
    pub subject: String,
    pub body: String,
    pub state: MessageState,
    pub requires_ack: bool,
    pub created_at: Moment,
    pub read_at: Option<Moment>,
    pub acked_at: Option<Moment>,
    /// Fields of a later version, preserved when the record is rewritten.
    #[serde(flatten)]
    pub unknown_fields: Map<String, Value>,
}

impl Message {
    /// Returns whether the message still needs an acknowledgement.
    pub fn awaits_ack(&self) -> bool {
        self.requires_ack && self.state != MessageState::Acked
    }
}

/// A message id: letters, digits, `_`, `-` and `.`, starting with a letter or digit, so that it is safe as
/// the name of an index file. New ids begin with `msg_`; earlier versions of the original tool put a time
/// with a fraction into them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct MessageId(String);

impl MessageId {
    pub const PREFIX: &str = "msg_";

    pub fn parse(text: &str) -> Result<MessageId> {
        let id = text.trim();
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        let begins = id.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
        if begins && id.len() <= MESSAGE_ID_MAX && id.bytes().all(plain) && id != Self::PREFIX {
            return Ok(MessageId(id.to_owned()));
        }
        Err(Error::new(Code::MessageNotFound, format!("'{id}' is not a message id."))
            .with_reason(Reason::InvalidMessageId))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id of one recipient's copy.
    pub fn copy_for(&self, recipient: &AgentId) -> Result<MessageId> {
        MessageId::parse(&format!("{self}_{recipient}"))
    }

    pub fn not_found(&self) -> Error {
        Error::new(Code::MessageNotFound, format!("Message '{self}' does not exist."))
            .with("message_id", self.as_str())
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for MessageId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<MessageId, D::Error> {
        MessageId::parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Category {
    Handoff,
    Blocked,
    Decision,
    Info,
}

impl Category {
    const ALL: [Category; 4] = [Category::Handoff, Category::Blocked, Category::Decision, Category::Info];

    pub fn parse(text: &str) -> Result<Category> {
        let word = text.trim();
        Category::ALL.into_iter().find(|category| category.as_str() == word).ok_or_else(|| {
            let message = format!("Category must be one of HANDOFF, BLOCKED, DECISION, INFO, not '{word}'.");
            Error::new(Code::InvalidCategory, message)
        })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Category::Handoff => "HANDOFF",
            Category::Blocked => "BLOCKED",
            Category::Decision => "DECISION",
            Category::Info => "INFO",
        }
    }

    /// Returns whether a message of this category needs an acknowledgement (contract §6).
    pub fn requires_ack(self) -> bool {
        matches!(self, Category::Handoff | Category::Blocked)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageState {
    Unread,
    Read,
    Acked,
}

impl MessageState {
    const ALL: [MessageState; 3] = [MessageState::Unread, MessageState::Read, MessageState::Acked];

    pub fn parse(text: &str) -> Result<MessageState> {
        let word = text.trim();
        MessageState::ALL.into_iter().find(|state| state.as_str() == word).ok_or_else(|| {
            let message = format!("State must be one of unread, read, acked, not '{word}'.");
            Error::invalid(Reason::InvalidState, message)
        })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            MessageState::Unread => "unread",
            MessageState::Read => "read",
            MessageState::Acked => "acked",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_name_a_file_outside_the_index() {
        assert!(MessageId::parse("msg_20260213_220001_7f3c_agent-ui-1").is_ok());
        assert!(MessageId::parse("msg_20261116_190317.958Z_624d").is_ok(), "an id of the original tool");
        for bad in ["", "msg_", ".", "..", ".hidden", "msg_../x", "msg_a/b", "msg_a\0", "../msg_a", "msg_é"]
        {
            assert_eq!(MessageId::parse(bad).unwrap_err().code, Code::MessageNotFound, "{bad}");
        }
    }
}
