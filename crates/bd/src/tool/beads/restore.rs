use beads_core::Op;
use beads_core::op::Restore;
use beads_engine::failure::Failure;

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for Restore {
    const NAME: &'static str = "beads.restore";
    const ABOUT: Option<&'static str> = Some("Restore a deleted bead with all its data");
    const EXAMPLE: &'static str = r#"{"id":"bd-a1"}"#;
    type Output = output::Bead;
}

impl Mutation for Restore {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Restore(self))
    }
}
