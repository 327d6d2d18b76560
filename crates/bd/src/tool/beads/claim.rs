use beads_core::op::{self, Guard};
use beads_core::schema::{BeadRef, LeaseMs};
use beads_core::{Op, query};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::filter::Filter;
use super::output;
use crate::tool::{Definition, Mutation, field};

/// Take a bead, so that nobody else does, and get what is needed to begin
///
/// Without an id it takes the best bead that is ready; `next` says which will do. The claim is a lease: claiming again, or
/// any change by its holder, renews it.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("not" = {"required": ["id", "next"]}))]
#[schemars(extend("dependencies" = {"expected_content_hash": ["id"], "fence": ["id"]}))]
pub struct Claim {
    /// The bead, or a beginning of its id that fits only one
    #[serde(default)]
    #[schemars(with = "Option<BeadRef>")]
    id: Option<String>,
    /// Which beads will do when no id is given
    #[serde(default)]
    next: Option<Next>,
    /// How long it is yours, in milliseconds; the setting claim.lease when absent
    #[serde(default)]
    #[schemars(with = "Option<LeaseMs>")]
    lease_ms: Option<u64>,
    /// Without an id: how long to wait when nothing is ready, in milliseconds
    #[serde(default)]
    #[schemars(with = "field::TimeoutMs")]
    wait_ms: u64,
    /// Push the claim, and refuse it if an agent on another machine was faster
    #[serde(default)]
    confirm: bool,
    /// With an id: end the claim of a session that is gone or was silent for a minute
    #[serde(default)]
    take_over: bool,
    /// Without an id: when nothing is ready, take a bead whose session was silent so long, in milliseconds
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
    /// In which order they are taken
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
                "wait_ms and confirm are for a claim on its own, not for one of a batch",
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
