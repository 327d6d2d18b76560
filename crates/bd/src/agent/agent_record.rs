//! A registered agent: `agents/<agent_id>.json` (contract §5.1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::agent_id::AgentId;
use super::bounds::{GONE_AFTER_MINUTES, STALE_AFTER_MINUTES};
use super::moment::Moment;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    pub agent_id: AgentId,
    pub display_name: String,
    pub role: String,
    pub status: String,
    pub created_at: Moment,
    pub last_seen_at: Moment,
    pub version: u64,
    /// Fields of a later version, preserved when the record is rewritten.
    #[serde(flatten)]
    pub unknown_fields: Map<String, Value>,
}

impl Agent {
    pub fn liveness(&self, now: Moment) -> Liveness {
        match now.minutes_since(self.last_seen_at) {
            minutes if minutes >= GONE_AFTER_MINUTES => Liveness::Gone,
            minutes if minutes >= STALE_AFTER_MINUTES => Liveness::Stale,
            _ => Liveness::Active,
        }
    }
}

/// How recently an agent was seen. A hint for people and planners; no command depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Liveness {
    Active,
    Stale,
    Gone,
}

impl Liveness {
    pub fn as_str(self) -> &'static str {
        match self {
            Liveness::Active => "active",
            Liveness::Stale => "stale",
            Liveness::Gone => "gone",
        }
    }
}

/// An agent's record with its current liveness.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SeenAgent {
    #[serde(flatten)]
    pub agent: Agent,
    pub liveness: Liveness,
}

impl SeenAgent {
    pub fn new(agent: Agent, now: Moment) -> SeenAgent {
        SeenAgent { liveness: agent.liveness(now), agent }
    }
}
