use beads_core::{Op, op};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::dependency::Dependency;
use super::output;
use crate::tool::{Definition, Mutation};

/// Make one bead wait for another
#[derive(Debug, Deserialize, JsonSchema)]
pub struct DepAdd {
    #[serde(flatten)]
    dependency: Dependency,
}

impl Definition for DepAdd {
    const NAME: &'static str = "beads.dep_add";
    const EXAMPLE: &'static str = r#"{"from":"bd-a1","to":"bd-b2"}"#;
    type Output = output::Edge;
}

impl Mutation for DepAdd {
    fn op(self) -> Result<Op, Failure> {
        let Dependency { from, to, kind } = self.dependency;
        Ok(Op::DepAdd(op::DepAdd { from, to, kind }))
    }
}
