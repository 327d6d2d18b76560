//! `bb agent register`

use clap::Args;
use serde::Deserialize;
use serde_json::Map;

use super::agent_id::{AgentId, BROADCAST};
use super::agent_record::Agent;
use super::bounds::LABEL_MAX;
use super::error::{Code, Error, Reason, Result};
use super::store::Store;

/// Register an agent, or update its display name and role
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Register {
    /// Agent id: 3 to 48 lower-case letters, digits and single hyphens
    #[arg(long, value_name = "AGENT_ID")]
    pub name: String,
    /// Name for people [default: the agent id]
    #[arg(long)]
    #[serde(default)]
    pub display: Option<String>,
    /// What the agent does, for example `ui`
    #[arg(long)]
    pub role: String,
    /// Update display name and role if the agent exists; the id never changes
    #[arg(long)]
    #[serde(default)]
    pub force_update: bool,
}

pub fn register(store: &Store, input: &Register) -> Result<Agent> {
    let id = AgentId::parse(&input.name)?;
    if id.as_str() == BROADCAST {
        let message = format!("'{BROADCAST}' addresses all agents; choose another id.");
        return Err(Error::invalid(Reason::ReservedAgentId, message));
    }
    let role = label(&input.role, "Role", Reason::InvalidRole)?;
    if role.is_empty() {
        return Err(Error::invalid(Reason::InvalidRole, "Role must not be empty."));
    }
    let display = input.display.as_deref().unwrap_or_default();
    let display =
        Some(label(display, "Display name", Reason::InvalidDisplay)?).filter(|name| !name.is_empty());

    let session = store.create()?;
    let agent = match session.find_agent(&id)? {
        Some(_) if !input.force_update => {
            let message = format!(
                "Agent '{id}' is already registered. Nothing was changed; choose another name, or ask its owner to update it."
            );
            return Err(Error::new(Code::DuplicateAgentId, message).with("agent_id", id.as_str()));
        }
        Some(known) => Agent {
            display_name: display.unwrap_or(known.display_name),
            role,
            last_seen_at: session.now.max(known.last_seen_at),
            version: known.version.saturating_add(1),
            ..known
        },
        None => Agent {
            display_name: display.unwrap_or_else(|| id.to_string()),
            agent_id: id,
            role,
            status: "idle".to_owned(),
            created_at: session.now,
            last_seen_at: session.now,
            version: 1,
            unknown_fields: Map::new(),
        },
    };
    session.save_agent(&agent)?;
    Ok(agent)
}

fn label(text: &str, what: &str, reason: Reason) -> Result<String> {
    let text = text.trim();
    if text.len() > LABEL_MAX {
        return Err(Error::invalid(reason, format!("{what} is longer than {LABEL_MAX} bytes.")));
    }
    Ok(text.to_owned())
}
