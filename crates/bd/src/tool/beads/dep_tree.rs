use beads_core::query::Direction;
use beads_core::schema::BeadRef;
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::tool::{Definition, Question, field};

/// Show everything a bead waits for, or that waits for it, as a tree in rows
#[derive(Debug, Deserialize, JsonSchema)]
pub struct DepTree {
    /// The bead at the root
    #[schemars(with = "BeadRef")]
    id: String,
    /// down: what it waits for; up: what waits for it
    #[serde(default)]
    #[schemars(with = "field::Direction")]
    direction: Direction,
    /// How deep to go; all the way when absent
    #[serde(default)]
    #[schemars(with = "field::Depth")]
    depth: Option<usize>,
}

impl Definition for DepTree {
    const NAME: &'static str = "beads.dep_tree";
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","direction":"up"}"#;
    type Output = Vec<output::TreeRow>;
}

impl Question for DepTree {
    fn call(self) -> Result<Call, Failure> {
        let Self { id, direction, depth } = self;
        Ok(Call::query(Query::DepTree { id, direction, depth }))
    }
}
