use beads_core::Op;
use beads_core::op::NoteAdd;
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use clap::Subcommand;

use super::guard::GuardArgs;
use super::input::Input;

/// Read and append to the log of a bead
///
/// `bd note ID` lists; `bd note ID TEXT` appends.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  bd note add bd-a1 \"reproduced on main\"\n  bd note list bd-a1"
)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[arg(value_name = "ID")]
    id: Option<String>,
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
    #[command(flatten)]
    guard: GuardArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Append a note
    #[command(after_help = "Example:\n  bd note add bd-a1 \"reproduced on main\"")]
    Add(Add),
    /// Read the log
    #[command(after_help = "Example:\n  bd note list bd-a1")]
    List {
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, clap::Args)]
struct Add {
    #[arg(value_name = "ID")]
    id: String,
    /// The text; - for standard input, @/absolute/path for a file
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        match (self.verb, self.id) {
            (Some(Verb::List { id }), _) => Ok(Call::query(Query::Notes { id })),
            (Some(Verb::Add(add)), _) => append(input, add.id, &add.text, add.guard.guard()),
            (None, Some(id)) if self.text.is_empty() => Ok(Call::query(Query::Notes { id })),
            (None, Some(id)) => append(input, id, &self.text, self.guard.guard()),
            (None, None) => Err(Failure::usage("an id is needed")),
        }
    }
}

fn append(input: Input, id: String, text: &[String], guard: beads_core::op::Guard) -> Result<Call, Failure> {
    let content = input.text(&text.join(" "))?;
    let op = Op::NoteAdd(NoteAdd { id, guard, content, ..NoteAdd::default() });
    Ok(Call::one(op))
}
