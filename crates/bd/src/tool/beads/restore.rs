use beads_core::op;
use beads_core::{Op, Text};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::guard::Guard;
use super::output;
use crate::tool::{Definition, Mutation, field};

/// Bring a deleted bead back, with everything it had
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Restore {
    /// The bead, or a beginning of its id that fits only one
    #[schemars(with = "field::BeadRef")]
    id: String,
    /// Why; kept as a note
    #[serde(default)]
    #[schemars(with = "field::Text")]
    reason: Text,
    #[serde(flatten)]
    guard: Guard,
}

impl Definition for Restore {
    const NAME: &'static str = "beads.restore";
    const EXAMPLE: &'static str = r#"{"id":"bd-a1"}"#;
    type Output = output::Bead;
}

impl Mutation for Restore {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Restore(op::Restore { id: self.id, guard: self.guard.into(), reason: self.reason }))
    }
}
