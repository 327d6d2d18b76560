use beads_core::Op;
use beads_core::op::Ask;
use beads_engine::failure::Failure;

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for Ask {
    const NAME: &'static str = "beads.ask";
    const ABOUT: Option<&'static str> = Some(
        "Ask a person about a bead and give the claim back\n\n\
        The bead is not ready until the question is answered; then it is offered to you first.",
    );
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","text":"Which index?","options":["hash","btree"]}"#;
    type Output = output::Bead;
}

impl Mutation for Ask {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Ask(self))
    }
}
