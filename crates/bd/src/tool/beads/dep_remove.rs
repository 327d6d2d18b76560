use beads_core::Op;
use beads_core::op::DepRemove;
use beads_engine::failure::Failure;

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for DepRemove {
    const NAME: &'static str = "beads.dep_remove";
    const ABOUT: Option<&'static str> = Some("Remove a dependency");
    const EXAMPLE: &'static str = r#"{"from":"bd-a1","to":"bd-b2"}"#;
    type Output = output::Edge;
}

impl Mutation for DepRemove {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::DepRemove(self))
    }
}
