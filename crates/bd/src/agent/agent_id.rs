//! Agent ids. An [`AgentId`] is always valid and safe as a file name.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::bounds::AGENT_ID_LEN;
use super::error::{Code, Error, Reason, Result};

/// The address of all agents (contract §6.1); no agent may have this id.
pub const BROADCAST: &str = "broadcast";

/// An agent id: `^[a-z0-9]+(?:-[a-z0-9]+)*$`, 3 to 48 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct AgentId(String);

impl AgentId {
    /// Parses an id, ignoring surrounding whitespace.
    pub fn parse(text: &str) -> Result<AgentId> {
        let id = text.trim();
        let is_valid = id.split('-').all(|word| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        });
        if is_valid && AGENT_ID_LEN.contains(&id.len()) {
            return Ok(AgentId(id.to_owned()));
        }
        let message = format!(
            "Invalid agent id '{id}': use {} to {} lower-case letters, digits and single hyphens between them.",
            AGENT_ID_LEN.start(),
            AGENT_ID_LEN.end(),
        );
        Err(Error::invalid(Reason::InvalidAgentId, message))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the error for an agent that is not registered.
    pub fn not_found(&self) -> Error {
        let message = format!("Agent '{self}' is not registered. Register it with: bb agent register");
        Error::new(Code::AgentNotFound, message).with("agent_id", self.as_str())
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for AgentId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<AgentId, D::Error> {
        AgentId::parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_the_contract() {
        for good in ["abc", "agent-ui-1", "0-0", &"a".repeat(48)] {
            assert!(AgentId::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "ab", "-ab", "ab-", "a--b", "Abc", "a_b", "a b", "../x", "äbc", &"a".repeat(49)] {
            assert_eq!(AgentId::parse(bad).unwrap_err().reason, Some(Reason::InvalidAgentId), "{bad}");
        }
    }
}
