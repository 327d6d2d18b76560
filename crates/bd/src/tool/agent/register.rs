use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::agent::error::Result;
use crate::agent::register;
use crate::agent::store::Store;
use crate::tool::{Coordination, Definition, field};

/// Register an agent, or update its display name and role
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Register {
    /// Agent id: lower-case letters, digits and single hyphens
    #[schemars(with = "field::NewAgentId")]
    name: String,
    /// What the agent does, for example ui
    #[schemars(with = "field::AgentLabel")]
    role: String,
    /// Name for people; default: the agent id
    #[serde(default)]
    #[schemars(with = "field::AgentLabel")]
    display: Option<String>,
    /// Update display name and role if the agent exists
    #[serde(default)]
    force_update: bool,
}

impl Definition for Register {
    const NAME: &'static str = "agent.register";
    const EXAMPLE: &'static str = r#"{"name":"agent-ui-1","role":"ui"}"#;
    type Output = output::Agent;
}

impl Coordination for Register {
    const MUTATES: bool = true;

    fn act(self, store: &Store) -> Result<Self::Output> {
        let Self { name, role, display, force_update } = self;
        register::register(store, &register::Register { name, role, display, force_update })
    }
}
