//! The mailbox of an actor of beads.

use std::path::Path;

use beads_core::Actor;
use beads_engine::failure::Failure;

use super::agent_id::AgentId;
use super::clock::Clock;
use super::inbox;
use super::root::Root;
use super::store::Store;

/// Finds the store of messages for a directory.
pub fn store(directory: &Path) -> Result<Store, Failure> {
    let chosen = std::env::var_os("BB_AGENT_ROOT").filter(|value| !value.is_empty());
    let root = Root::find(directory, chosen.as_deref().map(Path::new), std::env::home_dir().as_deref());
    Ok(Store::new(root?, Clock::from_env()?))
}

/// Returns `BB_AGENT`, else the actor's name in the letters that addresses have.
pub fn address(actor: &Actor) -> Result<AgentId, Failure> {
    if let Some(name) = std::env::var("BB_AGENT").ok().filter(|name| !name.is_empty()) {
        return Ok(AgentId::parse(&name)?);
    }
    Ok(AgentId::parse(&slug(actor.as_str()))?)
}

/// Counts what is waiting; none for an actor that never used mail. Leaves no trace.
pub fn unread(directory: &Path, actor: &Actor) -> usize {
    let count = || -> Option<usize> {
        Some(inbox::unread(&store(directory).ok()?.preview(), &address(actor).ok()?).ok()?.len())
    };
    count().unwrap_or_default()
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
