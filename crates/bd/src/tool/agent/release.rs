use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::agent::error::Result;
use crate::agent::release;
use crate::agent::store::Store;
use crate::tool::{Coordination, Definition, field};

/// Release a reserved scope
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Release {
    /// Holder
    #[schemars(with = "field::AgentId")]
    agent: String,
    /// Scope as it was reserved
    #[schemars(with = "field::Scope")]
    scope: String,
}

impl Definition for Release {
    const NAME: &'static str = "agent.release";
    const EXAMPLE: &'static str = r#"{"agent":"agent-ui-1","scope":"src/ui/**"}"#;
    type Output = output::Reservation;
}

impl Coordination for Release {
    const MUTATES: bool = true;

    fn act(self, store: &Store) -> Result<Self::Output> {
        let Self { agent, scope } = self;
        release::release(store, &release::Release { agent, scope })
    }
}
