use beads_core::Op;
use beads_core::op::AnswerQuestion;
use beads_engine::failure::Failure;

use super::output;
use crate::tool::{Definition, Mutation};

impl Definition for AnswerQuestion {
    const NAME: &'static str = "beads.answer";
    const ABOUT: Option<&'static str> = Some(
        "Answer a question about a bead\n\n\
        The bead is offered to the agent that asked, then to everyone.",
    );
    const EXAMPLE: &'static str = r#"{"id":"bd-a1","text":"the second index"}"#;
    type Output = output::Bead;
}

impl Mutation for AnswerQuestion {
    fn op(self) -> Result<Op, Failure> {
        Ok(Op::Answer(self))
    }
}
