use beads_core::Op;
use beads_core::op::Close;
use beads_engine::failure::Failure;

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for Close {
    const NAME: &'static str = "beads.close";
    const ABOUT: Option<&'static str> = Some(
        "Close a finished bead\n\n\
        Refused while another actor holds it, while it depends on open beads, and for an epic with open children, \
        unless `force`.",
    );
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","reason":"fixed in 1f3a"}"#;
    type Output = output::ClosedBead;
}

impl Mutation for Close {
    /// Refuses what the command line only warns about, because programs do not read warnings.
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Close(Self { strict: true, ..self }))
    }
}
