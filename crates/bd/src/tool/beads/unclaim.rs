use beads_core::op;
use beads_core::{Op, Text};
use schemars::JsonSchema;
use serde::Deserialize;

use super::guard::Guard;
use super::output;
use crate::tool::{Definition, Mutation, field};
use beads_engine::failure::Failure;

/// Give a bead back
///
/// Only its holder may, unless the lease has run out or `force` is given with a reason.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Unclaim {
    /// The bead, or a beginning of its id that fits only one
    #[schemars(with = "field::BeadRef")]
    id: String,
    /// Why; kept as a note
    #[serde(default)]
    #[schemars(with = "field::Text")]
    reason: Text,
    /// Take it out of another actor's hands; needs a reason
    #[serde(default)]
    force: bool,
    #[serde(flatten)]
    guard: Guard,
}

impl Definition for Unclaim {
    const NAME: &'static str = "beads.unclaim";
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","reason":"needs a decision first"}"#;
    type Output = output::Bead;
}

impl Mutation for Unclaim {
    fn op(self) -> Result<Op, Failure> {
        if self.force && self.reason.is_empty() {
            return Err(Failure::invalid("force needs a reason").with(serde_json::json!({"field": "reason"})));
        }
        let (force, reason) = (self.force, self.reason);
        Ok(Op::Unclaim(op::Unclaim { id: self.id, guard: self.guard.into(), force, reason }))
    }
}
