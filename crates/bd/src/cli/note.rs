use std::path::Path;

use beads_core::op::NoteAdd;
use beads_core::{Actor, Op};
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use clap::Subcommand;

use super::guard::GuardArgs;
use super::input::Input;

/// Add a note to a bead, or list its notes
///
/// `ID TEXT` adds a note; `ID` alone lists the notes. For programs written for the Go bd, `bd note` appends
/// to the field `notes`, as `bd update --append-notes` does, and `bd comment` adds a comment.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  bd note bd-a1 \"reproduced on main\"\n  git log -1 | bd comment bd-a1 --stdin\n  bd note list bd-a1"
)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Id of the bead; an unambiguous prefix is enough
    #[arg(value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    note: NoteArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Add a note
    #[command(after_help = "Example:\n  bd note add bd-a1 \"reproduced on main\"")]
    Add(Add),
    /// List the notes of a bead, or of an actor
    #[command(after_help = "Examples:\n  bd note list bd-a1\n  bd note list --author bob")]
    List {
        /// Id of the bead; an unambiguous prefix is enough
        #[arg(value_name = "ID", required_unless_present = "author")]
        id: Option<String>,
        /// Only notes by NAME, on all beads if no id is given
        #[arg(long, short = 'a', value_name = "NAME")]
        author: Option<Actor>,
    },
}

#[derive(Debug, clap::Args)]
struct Add {
    /// Id of the bead; an unambiguous prefix is enough
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    note: NoteArgs,
}

#[derive(Debug, clap::Args)]
struct NoteArgs {
    /// Text; - for standard input, @/absolute/path for a file
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    #[arg(hide = true)]
    more: Vec<String>,
    /// Read the text from standard input
    #[arg(long, conflicts_with = "text")]
    stdin: bool,
    /// Read the text from FILE; - for standard input
    #[arg(long, short = 'f', value_name = "FILE", conflicts_with_all = ["text", "stdin"])]
    file: Option<std::path::PathBuf>,
    /// Author of the note [default: the actor]
    #[arg(long, short = 'a', value_name = "NAME")]
    author: Option<Actor>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    /// Returns the actor that `--author` names.
    pub fn author(&self) -> Option<&Actor> {
        match &self.verb {
            Some(Verb::Add(add)) => add.note.author.as_ref(),
            Some(Verb::List { .. }) => None,
            None => self.note.author.as_ref(),
        }
    }

    /// Runs `bd note`.
    pub fn note(self, input: Input) -> Result<Call, Failure> {
        self.call(input, Call::Note)
    }

    /// Runs `bd comment`.
    pub fn comment(self, input: Input) -> Result<Call, Failure> {
        self.call(input, |note| Call::one(Op::NoteAdd(note)))
    }

    fn call(self, input: Input, append: impl FnOnce(NoteAdd) -> Call) -> Result<Call, Failure> {
        match (self.verb, self.id) {
            (Some(Verb::List { id, author: Some(author) }), _) => {
                Ok(Call::query(Query::NotesBy { author, id }))
            }
            (Some(Verb::List { id: Some(id), author: None }), _) => Ok(Call::query(Query::Notes { id })),
            (Some(Verb::List { id: None, author: None }), _) => Err(Failure::usage("an id is required")),
            (Some(Verb::Add(add)), _) => add.note.read(add.id, input).map(append),
            (None, Some(id)) if self.note.is_empty() => Ok(Call::query(Query::Notes { id })),
            (None, Some(id)) => self.note.read(id, input).map(append),
            (None, None) => Err(Failure::usage("an id is required")),
        }
    }
}

impl NoteArgs {
    fn is_empty(&self) -> bool {
        self.text.is_none() && !self.stdin && self.file.is_none()
    }

    fn read(self, id: String, input: Input) -> Result<NoteAdd, Failure> {
        let guard = self.guard.guard();
        let content = match (self.text, self.file) {
            (Some(text), _) => input.text(&[vec![text], self.more].concat().join(" "))?,
            (None, Some(file)) => input.source(&file)?.parse()?,
            (None, None) if self.stdin => input.source(Path::new("-"))?.parse()?,
            (None, None) => {
                return Err(Failure::usage("a text is required; use --stdin to read it from standard input"));
            }
        };
        Ok(NoteAdd { id, guard, content, ..NoteAdd::default() })
    }
}
