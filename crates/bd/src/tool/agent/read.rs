use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::agent::error::Result;
use crate::agent::read;
use crate::agent::store::Store;
use crate::tool::{Coordination, Definition, field};

/// Mark a message as read
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Read {
    /// Recipient
    #[schemars(with = "field::AgentId")]
    agent: String,
    /// Message id
    #[schemars(with = "field::MessageId")]
    message: String,
}

impl Definition for Read {
    const NAME: &'static str = "agent.read";
    const EXAMPLE: &'static str = r#"{"agent":"agent-api-1","message":"msg_20260213_220001_7f3c"}"#;
    type Output = output::Message;
}

impl Coordination for Read {
    const MUTATES: bool = true;

    fn act(self, store: &Store) -> Result<Self::Output> {
        let Self { agent, message } = self;
        read::read(store, &read::Read { agent, message })
    }
}
