use beads_core::op::{ConflictDismiss, ConflictRestore};
use beads_core::{ConflictId, Op};
use beads_engine::request::{Call, Mutate};
use clap::Subcommand;

/// See what concurrent writes overwrote, and bring it back
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd conflicts list")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Values that lost against a concurrent write, and ids that went to older beads
    #[command(after_help = "Example:\n  bd conflicts list --json")]
    List {
        /// Dismissed ones too
        #[arg(long)]
        all: bool,
    },
    /// One conflict
    #[command(after_help = "Example:\n  bd conflicts show CONFLICT-0123456789abcdef0123456789abcdef")]
    Show {
        #[arg(value_name = "CONFLICT")]
        id: String,
    },
    /// Write the losing value again, for everybody to see
    #[command(after_help = "Example:\n  bd conflicts restore CONFLICT-0123456789abcdef0123456789abcdef")]
    Restore {
        #[arg(required = true, value_name = "CONFLICT")]
        ids: Vec<ConflictId>,
    },
    /// The winner is right; do not show it again
    #[command(after_help = "Example:\n  bd conflicts dismiss CONFLICT-0123456789abcdef0123456789abcdef")]
    Dismiss {
        #[arg(required = true, value_name = "CONFLICT")]
        ids: Vec<ConflictId>,
    },
}

impl Args {
    pub fn call(self) -> Call {
        let many = |ops| Call::Mutate(Mutate { ops, many: true, dry_run: false });
        match self.verb {
            Verb::List { all } => Call::ConflictList { all },
            Verb::Show { id } => Call::ConflictShow { id },
            Verb::Restore { ids } => {
                many(ids.into_iter().map(|id| Op::ConflictRestore(ConflictRestore { id })).collect())
            }
            Verb::Dismiss { ids } => {
                many(ids.into_iter().map(|id| Op::ConflictDismiss(ConflictDismiss { id })).collect())
            }
        }
    }
}
