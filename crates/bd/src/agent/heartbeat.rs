//! `bb agent heartbeat`

use clap::Args;
use serde::Deserialize;

use super::agent_id::AgentId;
use super::agent_record::Agent;
use super::error::Result;
use super::store::Store;

/// Record that an agent is alive
///
/// Every other command that an agent runs does so too.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Agent id
    #[arg(long, env = "BB_AGENT", hide_env_values = true, value_name = "AGENT_ID")]
    pub agent: String,
}

pub fn heartbeat(store: &Store, input: &Heartbeat) -> Result<Agent> {
    let id = AgentId::parse(&input.agent)?;
    store.write()?.mark_seen(&id)
}
