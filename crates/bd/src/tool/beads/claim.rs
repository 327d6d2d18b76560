use beads_core::op::{self, Guard};
use beads_core::schema::{BeadRef, LeaseMs};
use beads_core::{Op, query};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::filter::Filter;
use super::output;
use crate::tool::{Definition, Mutation, field};

/// Claim a bead and get its brief
///
/// Without an id it claims the best ready bead; `next` filters the candidates. The claim is a lease: claiming again, or
/// any change by its holder, renews it.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("not" = {"required": ["id", "next"]}))]
#[schemars(extend("dependencies" = {"expected_content_hash": ["id"], "fence": ["id"]}))]
pub struct Claim {
    /// Bead id, or a unique prefix of it
    #[serde(default)]
    #[schemars(with = "Option<BeadRef>")]
    id: Option<String>,
    /// Without an id: which beads to consider
    #[serde(default)]
    next: Option<Next>,
    /// Length of the lease in milliseconds; default: the setting claim.lease
    #[serde(default)]
    #[schemars(with = "Option<LeaseMs>")]
    lease_ms: Option<u64>,
    /// Without an id: how long to wait if nothing is ready, in milliseconds
    #[serde(default)]
    #[schemars(with = "field::TimeoutMs")]
    wait_ms: u64,
    /// Push the claim, and refuse it if an agent on another machine was faster
    #[serde(default)]
    confirm: bool,
    /// With an id: take it over from a session that is gone or has been silent for a minute
    #[serde(default)]
    take_over: bool,
    /// Without an id: if nothing is ready, take a bead whose session has been silent this long, in milliseconds
    #[serde(default)]
    #[schemars(with = "Option<LeaseMs>")]
    steal_silent_ms: Option<u64>,
    #[serde(flatten)]
    guard: Guard,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
struct Next {
    #[serde(flatten)]
    filter: Filter,
    /// Order of the candidates
    #[serde(default)]
    #[schemars(with = "field::ReadyOrder")]
    sort: Option<String>,
    /// Only beads below this one, at any depth
    #[serde(default)]
    #[schemars(with = "Option<BeadRef>")]
    parent: Option<String>,
}

impl Definition for Claim {
    const NAME: &'static str = "beads.claim";
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","lease_ms":7200000}"#;
    type Output = output::ClaimedBead;
}

impl Mutation for Claim {
    fn op(self) -> Result<Op, Failure> {
        let Self { id, next, lease_ms, wait_ms, confirm, take_over, steal_silent_ms, guard } = self;
        if wait_ms > 0 || confirm {
            return Err(Failure::usage(
                "wait_ms and confirm are only for a single claim, not for one in a batch",
            ));
        }
        if let Some(id) = id {
            return Ok(Op::Claim(op::ClaimBead { id, guard, lease_ms, take_over, ..Default::default() }));
        }
        let next = next.unwrap_or_default();
        let by = next.sort.as_deref().map(str::parse).transpose()?.unwrap_or_default();
        let sort = query::Sort { by, reverse: false };
        let filter = query::Filter { sort, ..next.filter.filter(0) };
        let filter = query::ReadyFilter { filter, under: next.parent };
        Ok(Op::ClaimNext(Box::new(op::ClaimNext { filter, lease_ms, steal_silent_ms, ..Default::default() })))
    }
}
