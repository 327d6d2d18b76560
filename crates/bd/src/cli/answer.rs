use beads_core::Op;
use beads_core::op::AnswerQuestion;
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::guard::GuardArgs;
use super::input::Input;

/// Answer a question
///
/// The bead is offered to the agent that asked for ten minutes, then to everyone. `bd questions` lists what is open.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd answer bd-a1 \"use the second index\"\n  bd answer bd-a1 --question 3f2a \"yes\""
)]
pub struct Args {
    /// Id of the bead; an unambiguous prefix is enough
    #[arg(value_name = "ID")]
    id: String,
    /// The answer; - reads it from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    /// The question to answer, when the bead has several
    #[arg(long, value_name = "NOTE")]
    question: Option<String>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let text = input.text(&self.text)?;
        let (id, guard, question) = (self.id, self.guard.guard(), self.question);
        Ok(Call::one(Op::Answer(AnswerQuestion { id, guard, text, question })))
    }
}
