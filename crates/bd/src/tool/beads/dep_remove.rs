use beads_core::{Op, op};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::dependency::Dependency;
use super::output;
use crate::tool::{Definition, Mutation};

/// Take a dependency away
#[derive(Debug, Deserialize, JsonSchema)]
pub struct DepRemove {
    #[serde(flatten)]
    dependency: Dependency,
}

impl Definition for DepRemove {
    const NAME: &'static str = "beads.dep_remove";
    const EXAMPLE: &'static str = r#"{"from":"bd-a1","to":"bd-b2"}"#;
    type Output = output::Edge;
}

impl Mutation for DepRemove {
    fn op(self) -> Result<Op, Failure> {
        let Dependency { from, to, kind } = self.dependency;
        Ok(Op::DepRemove(op::DepRemove { from, to, kind }))
    }
}
