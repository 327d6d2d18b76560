use beads_core::Op;
use beads_core::op::HandOver;
use beads_engine::failure::Failure;

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for HandOver {
    const NAME: &'static str = "beads.handover";
    const ABOUT: Option<&'static str> = Some(
        "Hand over a bead you hold to another agent\n\n\
        That agent's next claim takes it before any other. If it is not taken in time, the bead is ready for \
        everyone.",
    );
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","to":"agent-2","text":"the tests are missing"}"#;
    type Output = output::Bead;
}

impl Mutation for HandOver {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::HandOver(Box::new(self)))
    }
}
