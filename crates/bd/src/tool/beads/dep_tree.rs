use beads_core::query::Direction;
use beads_core::schema::BeadRef;
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use schemars::JsonSchema;
use serde::Deserialize;

use super::output;
use crate::tool::{Definition, Question, field};

/// Show all dependencies or dependents of a bead as a tree in rows
#[derive(Debug, Deserialize, JsonSchema)]
pub struct DepTree {
    /// Bead at the root
    #[schemars(with = "BeadRef")]
    id: String,
    /// down: what it depends on; up: what depends on it
    #[serde(default)]
    #[schemars(with = "field::Direction")]
    direction: Direction,
    /// Maximum depth; default: unlimited
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
