use beads_core::op;
use beads_core::{Op, Text};
use beads_engine::failure::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::guard::Guard;
use super::output;
use crate::tool::{Definition, Mutation, field};

/// Append a note to a bead; notes are never edited
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NoteAdd {
    /// The bead, or a beginning of its id that fits only one
    #[schemars(with = "field::BeadRef")]
    id: String,
    /// The note
    #[schemars(with = "field::Said")]
    content: Text,
    #[serde(flatten)]
    guard: Guard,
}

impl Definition for NoteAdd {
    const NAME: &'static str = "beads.note_add";
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","content":"The cause is in the cache."}"#;
    type Output = output::Note;
}

impl Mutation for NoteAdd {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::NoteAdd(op::NoteAdd {
            id: self.id,
            guard: self.guard.into(),
            content: self.content,
            ..op::NoteAdd::default()
        }))
    }
}
