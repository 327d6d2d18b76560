use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::agent::error::Result;
use crate::agent::reserve;
use crate::agent::store::Store;
use crate::tool::{Coordination, Definition, field};

/// Reserve paths for an agent, so that others do not edit them
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Reserve {
    /// Holder
    #[schemars(with = "field::AgentId")]
    agent: String,
    /// Path or pattern relative to the root of the repository, for example src/**
    #[schemars(with = "field::Scope")]
    scope: String,
    /// Bead the reservation is for
    #[schemars(with = "field::AgentBead")]
    bead: String,
    /// Lifetime in minutes
    #[serde(default = "default_ttl")]
    #[schemars(with = "field::TtlMinutes")]
    ttl: i64,
    /// Take over reservations that have expired
    #[serde(default)]
    takeover_stale: bool,
    /// Conflict only with an equal scope, not with an overlapping one
    #[serde(default)]
    exact: bool,
}

fn default_ttl() -> i64 {
    crate::agent::bounds::TTL_DEFAULT
}

impl Definition for Reserve {
    const NAME: &'static str = "agent.reserve";
    const EXAMPLE: &'static str = r#"{"agent":"agent-ui-1","scope":"src/ui/**","bead":"bd-a1"}"#;
    type Output = output::Reservation;
}

impl Coordination for Reserve {
    const MUTATES: bool = true;

    fn act(self, store: &Store) -> Result<Self::Output> {
        let Self { agent, scope, bead, ttl, takeover_stale, exact } = self;
        let (bead, ttl) = (Some(bead), Some(ttl));
        reserve::reserve(store, &reserve::Reserve { agent, scope, bead, ttl, takeover_stale, exact })
    }
}
