use beads_core::op::Reopen;
use beads_core::{Op, Status};
use beads_engine::failure::Failure;

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for Reopen {
    const NAME: &'static str = "beads.reopen";
    const ABOUT: Option<&'static str> = Some("Reopen a closed bead");
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","reason":"it came back"}"#;
    type Output = output::Bead;
}

impl Mutation for Reopen {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Reopen(Self { status: self.status.or(Some(Status::Open)), ..self }))
    }
}
