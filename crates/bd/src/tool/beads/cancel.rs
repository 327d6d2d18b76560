use beads_core::op;
use beads_core::{Op, Text};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::guard::Guard;
use super::output;
use crate::tool::{Definition, Mutation, field};

/// Close a bead that is not to be done
///
/// Final until it is reopened: a worker that closes it later is refused, and reads the reason.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Cancel {
    /// The bead, or a beginning of its id that fits only one
    #[schemars(with = "field::BeadRef")]
    id: String,
    /// Why it is not to be done
    #[schemars(with = "field::Text")]
    reason: Text,
    #[serde(flatten)]
    guard: Guard,
}

impl Definition for Cancel {
    const NAME: &'static str = "beads.cancel";
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","reason":"the feature was dropped"}"#;
    type Output = output::ClosedBead;
}

impl Mutation for Cancel {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Cancel(op::Cancel { id: self.id, guard: self.guard.into(), reason: self.reason }))
    }
}
