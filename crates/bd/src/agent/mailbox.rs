//! The `bb` mailbox of a `bd` actor.

use std::collections::BTreeMap;
use std::path::Path;

use beads_core::Actor;
use beads_engine::failure::Failure;

use super::agent_id::AgentId;
use super::clock::Clock;
use super::inbox;
use super::message::MessageState;
use super::root::Root;
use super::store::Store;

/// Finds the message store for a directory.
pub fn store(directory: &Path) -> Result<Store, Failure> {
    let chosen = std::env::var_os("BB_AGENT_ROOT").filter(|value| !value.is_empty());
    let root = Root::find(directory, chosen.as_deref().map(Path::new), std::env::home_dir().as_deref());
    Ok(Store::new(root?, Clock::from_env()?))
}

/// Returns `BB_AGENT`, else the actor's name converted to a valid agent id.
pub fn address(actor: &Actor) -> Result<AgentId, Failure> {
    if let Some(name) = std::env::var("BB_AGENT").ok().filter(|name| !name.is_empty()) {
        return Ok(AgentId::parse(&name)?);
    }
    Ok(AgentId::parse(&slug(actor.as_str()))?)
}

/// Counts unread messages without writing anything; 0 for an actor that never used mail.
pub fn unread(directory: &Path, actor: &Actor) -> usize {
    let count = || -> Option<usize> {
        Some(inbox::unread(&store(directory).ok()?.preview(), &address(actor).ok()?).ok()?.len())
    };
    count().unwrap_or_default()
}

/// Returns the unread messages and the reserved scopes of registered agents by their ids, without writing
/// anything. Empty where no agent ever registered, or the directory cannot be read.
pub fn overview(directory: &Path) -> BTreeMap<String, (usize, Vec<String>)> {
    let read = || -> Option<BTreeMap<String, (usize, Vec<String>)>> {
        let store = store(directory).ok()?.preview();
        let session = store.read().ok()?;
        let mut agents: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
        for id in session.agent_ids().ok()? {
            let sent = session.sent_to(&id).unwrap_or_default();
            let unread =
                session.readable(sent.iter()).filter(|one| one.state == MessageState::Unread).count();
            agents.insert(id.to_string(), (unread, Vec::new()));
        }
        for held in session.reservations().ok()?.into_iter().filter(|held| !held.is_expired(session.now)) {
            agents.entry(held.agent_id.to_string()).or_default().1.push(held.scope);
        }
        Some(agents)
    };
    read().unwrap_or_default()
}

/// Returns the agent id of an actor by its name alone.
pub fn address_of(actor: &Actor) -> String {
    slug(actor.as_str())
}

fn slug(actor: &str) -> String {
    let letters: String =
        actor.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' }).collect();
    let slug: String = letters.split_whitespace().collect::<Vec<_>>().join("-").chars().take(48).collect();
    let slug = slug.trim_end_matches('-').to_owned();
    if slug.len() < 3 { format!("agent-{slug}").trim_end_matches('-').to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_actor_has_an_address() {
        for (actor, address) in [
            ("ann@here", "ann-here"),
            ("Claude Code@box.local", "claude-code-box-local"),
            ("é", "agent"),
            ("x", "agent-x"),
        ] {
            assert_eq!(slug(actor), address);
            assert!(AgentId::parse(&slug(actor)).is_ok());
        }
        assert!(AgentId::parse(&slug(&"a-".repeat(60))).is_ok());
    }
}
