use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::agent::ack;
use crate::agent::error::Result;
use crate::agent::store::Store;
use crate::tool::{Coordination, Definition, field};

/// Acknowledge a message (repeating it has no effect)
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Ack {
    /// Recipient
    #[schemars(with = "field::AgentId")]
    agent: String,
    /// Message id
    #[schemars(with = "field::MessageId")]
    message: String,
}

impl Definition for Ack {
    const NAME: &'static str = "agent.ack";
    const EXAMPLE: &'static str = r#"{"agent":"agent-api-1","message":"msg_20260213_220001_7f3c"}"#;
    type Output = output::Message;
}

impl Coordination for Ack {
    const MUTATES: bool = true;

    fn act(self, store: &Store) -> Result<Self::Output> {
        let Self { agent, message } = self;
        ack::ack(store, &ack::Ack { agent, message })
    }
}
