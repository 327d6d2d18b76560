use beads_core::op;
use beads_core::{Op, Status, Text};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::guard::Guard;
use super::output;
use crate::tool::{Definition, Mutation, field};

/// Take a closing back
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Reopen {
    /// The bead, or a beginning of its id that fits only one
    #[schemars(with = "field::BeadRef")]
    id: String,
    /// What it becomes; in_progress keeps the claim
    #[serde(default)]
    #[schemars(with = "field::Reopened")]
    status: Status,
    /// Why; kept as a note
    #[serde(default)]
    #[schemars(with = "field::Text")]
    reason: Text,
    #[serde(flatten)]
    guard: Guard,
}

impl Definition for Reopen {
    const NAME: &'static str = "beads.reopen";
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","reason":"it came back"}"#;
    type Output = output::Bead;
}

impl Mutation for Reopen {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Reopen(op::Reopen {
            id: self.id,
            guard: self.guard.into(),
            status: Some(self.status),
            reason: self.reason,
        }))
    }
}
