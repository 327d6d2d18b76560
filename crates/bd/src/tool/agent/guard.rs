use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::agent::error::Result;
use crate::agent::guard;
use crate::agent::store::Store;
use crate::tool::{Coordination, Definition, field};

/// Check whether an agent may edit paths; a path reserved by another agent is a conflict
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Guard {
    /// Agent that wants to edit
    #[schemars(with = "field::AgentId")]
    agent: String,
    /// Files or directories, relative to repo or the current directory
    #[schemars(with = "Vec<field::Path>", length(min = 1, max = 1000))]
    paths: Vec<PathBuf>,
}

impl Definition for Guard {
    const NAME: &'static str = "agent.guard";
    const EXAMPLE: &'static str = r#"{"agent":"agent-ui-1","paths":["src/ui/login.rs"]}"#;
    type Output = output::Verdict;
}

impl Coordination for Guard {
    const MUTATES: bool = false;

    fn act(self, store: &Store) -> Result<Self::Output> {
        let Self { agent, paths } = self;
        guard::guard(store, &guard::Guard { agent: Some(agent), hook: false, paths })
    }
}
