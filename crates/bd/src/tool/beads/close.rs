use beads_core::op;
use beads_core::{Evidence, Op, Text};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::guard::Guard;
use super::output;
use crate::tool::{Definition, Mutation, field};

/// Finish a bead
///
/// Refused while another actor holds it, while it waits for open beads, and for an epic with open children, unless `force`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Close {
    /// The bead, or a beginning of its id that fits only one
    #[schemars(with = "field::BeadRef")]
    id: String,
    /// How it ended
    #[serde(default)]
    #[schemars(with = "field::Text")]
    reason: Text,
    /// Close although another actor holds it, or blockers or children are open; on a closed bead, replace when, by
    /// whom and why it was closed
    #[serde(default)]
    force: bool,
    /// What shows that it is done: commit:SHA, url:URL or cmd:TEXT
    #[serde(default)]
    #[schemars(with = "Vec<field::Text>", length(max = 32))]
    evidence: Vec<Evidence>,
    #[serde(flatten)]
    guard: Guard,
}

impl Definition for Close {
    const NAME: &'static str = "beads.close";
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","reason":"fixed in 1f3a"}"#;
    type Output = output::ClosedBead;
}

impl Mutation for Close {
    fn op(self) -> Result<Op, Failure> {
        let Self { id, reason, force, evidence, guard } = self;
        Ok(Op::Close(op::Close { id, guard: guard.into(), reason, strict: true, force, evidence }))
    }
}
