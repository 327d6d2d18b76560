use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::agent::error::Result;
use crate::agent::show;
use crate::agent::store::Store;
use crate::tool::{Coordination, Definition, field};

/// Show one agent
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Show {
    /// Agent id
    #[schemars(with = "field::AgentId")]
    agent: String,
}

impl Definition for Show {
    const NAME: &'static str = "agent.show";
    const EXAMPLE: &'static str = r#"{"agent":"agent-ui-1"}"#;
    type Output = output::SeenAgent;
}

impl Coordination for Show {
    const MUTATES: bool = false;

    fn act(self, store: &Store) -> Result<Self::Output> {
        show::show(store, &show::Show { agent: self.agent })
    }
}
