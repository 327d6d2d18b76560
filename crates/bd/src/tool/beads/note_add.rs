use beads_core::Op;
use beads_core::op::NoteAdd;
use beads_engine::failure::Failure;

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for NoteAdd {
    const NAME: &'static str = "beads.note_add";
    const ABOUT: Option<&'static str> = Some("Add a note to a bead; notes cannot be edited");
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","content":"The cause is in the cache."}"#;
    type Output = output::Note;
}

impl Mutation for NoteAdd {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::NoteAdd(self))
    }
}
