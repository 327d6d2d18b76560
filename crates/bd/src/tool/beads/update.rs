use beads_core::Op;
use beads_core::op::Update;
use beads_engine::failure::Failure;

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for Update {
    const NAME: &'static str = "beads.update";
    const ABOUT: Option<&'static str> = Some(
        "Update fields of a bead\n\n\
        Other fields are left unchanged. An empty text, or null where it is allowed, clears a field.",
    );
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","priority":0,"add_labels":["urgent"]}"#;
    type Output = output::Bead;
}

impl Mutation for Update {
    /// Refuses a close that the command line only warns about, because programs do not read warnings.
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Update(Box::new(Self { strict: true, ..self })))
    }
}
