use beads_core::op;
use beads_core::{Op, Text};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::guard::Guard;
use super::output;
use crate::tool::{Definition, Mutation, field};

/// Remove a bead from sight; beads.restore brings it back
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Delete {
    /// The bead, or a beginning of its id that fits only one
    #[schemars(with = "field::BeadRef")]
    id: String,
    /// Why
    #[serde(default)]
    #[schemars(with = "field::Text")]
    reason: Text,
    #[serde(flatten)]
    guard: Guard,
}

impl Definition for Delete {
    const NAME: &'static str = "beads.delete";
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","reason":"duplicate"}"#;
    type Output = output::Bead;
}

impl Mutation for Delete {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Delete(op::Delete { id: self.id, guard: self.guard.into(), reason: self.reason }))
    }
}
