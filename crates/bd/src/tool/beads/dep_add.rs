use beads_core::Op;
use beads_core::op::DepAdd;
use beads_engine::failure::Failure;

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for DepAdd {
    const NAME: &'static str = "beads.dep_add";
    const ABOUT: Option<&'static str> = Some("Make one bead depend on another");
    const EXAMPLE: &'static str = r#"{"from":"bd-a1","to":"bd-b2"}"#;
    type Output = output::Edge;
}

impl Mutation for DepAdd {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::DepAdd(self))
    }
}
