use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::agent::error::Result;
use crate::agent::inbox;
use crate::agent::store::Store;
use crate::tool::{Coordination, Definition, field};

/// List the messages to an agent, newest first
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Inbox {
    /// Recipient
    #[schemars(with = "field::AgentId")]
    agent: String,
    /// Only messages in this state
    #[serde(default)]
    #[schemars(with = "field::MessageState")]
    state: Option<String>,
    /// Only messages about this bead
    #[serde(default)]
    #[schemars(with = "field::AgentBead")]
    bead: Option<String>,
    /// Maximum number of messages
    #[serde(default = "default_limit")]
    #[schemars(with = "field::InboxLimit")]
    limit: i64,
}

fn default_limit() -> i64 {
    crate::agent::bounds::INBOX_LIMIT_DEFAULT
}

impl Definition for Inbox {
    const NAME: &'static str = "agent.inbox";
    const EXAMPLE: &'static str = r#"{"agent":"agent-api-1","state":"unread"}"#;
    type Output = Vec<output::Message>;
}

impl Coordination for Inbox {
    const MUTATES: bool = false;

    fn act(self, store: &Store) -> Result<Self::Output> {
        let Self { agent, state, bead, limit } = self;
        inbox::inbox(store, &inbox::Inbox { agent, state, bead, limit: Some(limit) })
    }
}
