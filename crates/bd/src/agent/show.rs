//! `bb agent show`

use clap::Args;
use serde::Deserialize;

use super::agent_id::AgentId;
use super::agent_record::SeenAgent;
use super::error::Result;
use super::store::Store;

/// Show one agent
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Agent id
    #[arg(long, value_name = "AGENT_ID")]
    pub agent: String,
}

pub fn show(store: &Store, input: &Show) -> Result<SeenAgent> {
    let id = AgentId::parse(&input.agent)?;
    let session = store.read()?;
    session.mark_caller_seen();
    Ok(SeenAgent::new(session.agent(&id)?, session.now))
}
