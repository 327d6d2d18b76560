use beads_core::Op;
use beads_core::op::Delete;
use beads_engine::failure::Failure;

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for Delete {
    const NAME: &'static str = "beads.delete";
    const ABOUT: Option<&'static str> = Some("Delete a bead; beads.restore restores it");
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","reason":"duplicate"}"#;
    type Output = output::Bead;
}

impl Mutation for Delete {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Delete(self))
    }
}
