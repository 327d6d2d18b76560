//! `bb agent list`

use clap::Args;
use serde::Deserialize;

use super::agent_record::SeenAgent;
use super::error::Result;
use super::store::Store;

/// List the registered agents and when each was last seen
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only agents with this role
    #[arg(long)]
    pub role: Option<String>,
    /// Only agents with this status
    #[arg(long)]
    pub status: Option<String>,
}

pub fn list(store: &Store, input: &List) -> Result<Vec<SeenAgent>> {
    let session = store.read()?;
    session.mark_caller_seen();
    let wanted = |filter: &Option<String>, value: &str| {
        let filter = filter.as_deref().map(str::trim).filter(|filter| !filter.is_empty());
        filter.is_none_or(|filter| filter == value)
    };
    let agents = session.agents()?.into_iter();
    let agents =
        agents.filter(|agent| wanted(&input.role, &agent.role) && wanted(&input.status, &agent.status));
    Ok(agents.map(|agent| SeenAgent::new(agent, session.now)).collect())
}
