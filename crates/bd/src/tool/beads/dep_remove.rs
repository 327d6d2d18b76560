use beads_core::op;
use beads_core::{EdgeKind, Op};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::tool::{Definition, Mutation, field};

/// Take a dependency away
#[derive(Debug, Deserialize, JsonSchema)]
pub struct DepRemove {
    /// The bead that waits
    #[schemars(with = "field::BeadRef")]
    from: String,
    /// The bead it waits for
    #[schemars(with = "field::BeadRef")]
    to: String,
    /// What the edge means
    #[serde(default = "blocks")]
    #[schemars(with = "field::EdgeKind")]
    kind: EdgeKind,
}

fn blocks() -> EdgeKind {
    EdgeKind::Blocks
}

impl Definition for DepRemove {
    const NAME: &'static str = "beads.dep_remove";
    const EXAMPLE: &'static str = r#"{"from":"bd-a1","to":"bd-b2"}"#;
    type Output = output::Edge;
}

impl Mutation for DepRemove {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::DepRemove(op::DepRemove { from: self.from, to: self.to, kind: self.kind }))
    }
}
