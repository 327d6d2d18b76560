use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::agent::error::Result;
use crate::agent::status;
use crate::agent::store::Store;
use crate::tool::{Coordination, Definition, field};

/// Show active reservations and messages that need an acknowledgement
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Status {
    /// Only reservations and messages about this bead
    #[serde(default)]
    #[schemars(with = "field::AgentBead")]
    bead: Option<String>,
    /// Only reservations held by, and messages to, this agent
    #[serde(default)]
    #[schemars(with = "field::AgentId")]
    agent: Option<String>,
}

impl Definition for Status {
    const NAME: &'static str = "agent.status";
    const EXAMPLE: &'static str = r#"{"bead":"bd-a1"}"#;
    type Output = output::StatusReport;
}

impl Coordination for Status {
    const MUTATES: bool = false;

    fn act(self, store: &Store) -> Result<Self::Output> {
        let Self { bead, agent } = self;
        status::status(store, &status::Status { bead, agent })
    }
}
