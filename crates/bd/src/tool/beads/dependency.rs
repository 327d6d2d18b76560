//! The dependency that a tool adds or removes.

use beads_core::EdgeKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::field;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Dependency {
    /// The bead that waits
    #[schemars(with = "field::BeadRef")]
    pub from: String,
    /// The bead it waits for
    #[schemars(with = "field::BeadRef")]
    pub to: String,
    /// What the edge means
    #[serde(default = "blocks")]
    #[schemars(with = "field::EdgeKind")]
    pub kind: EdgeKind,
}

fn blocks() -> EdgeKind {
    EdgeKind::Blocks
}
