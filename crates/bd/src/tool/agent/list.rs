use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::agent::error::Result;
use crate::agent::list;
use crate::agent::store::Store;
use crate::tool::{Coordination, Definition, field};

/// List the registered agents and when each was last seen
#[derive(Debug, Deserialize, JsonSchema)]
pub struct List {
    /// Only agents with this role
    #[serde(default)]
    #[schemars(with = "field::AgentFilter")]
    role: Option<String>,
    /// Only agents with this status
    #[serde(default)]
    #[schemars(with = "field::AgentFilter")]
    status: Option<String>,
}

impl Definition for List {
    const NAME: &'static str = "agent.list";
    const EXAMPLE: &'static str = r#"{"role":"ui"}"#;
    type Output = Vec<output::SeenAgent>;
}

impl Coordination for List {
    const MUTATES: bool = false;

    fn act(self, store: &Store) -> Result<Self::Output> {
        let Self { role, status } = self;
        list::list(store, &list::List { role, status })
    }
}
