use beads_engine::request::{Call, ResolveConflicts};
use clap::Subcommand;

/// List values that concurrent writes overwrote, and restore them
///
/// Overwritten texts come first, lost claims last. As text, lost claims are one line; --verbose lists them.
/// Ids of conflicts may be abbreviated to four or more digits.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  bd conflicts\n  bd conflicts --bead bd-a1\n  bd conflicts restore 8ff5fd29\n  bd conflicts dismiss --all --bead bd-a1"
)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List overwritten values, and ids that were reassigned to older beads
    #[command(after_help = "Example:\n  bd conflicts list --json")]
    List(ListArgs),
    /// Show a conflict
    #[command(after_help = "Example:\n  bd conflicts show 8ff5fd29")]
    Show {
        /// Id of the conflict; four or more digits are enough
        #[arg(value_name = "CONFLICT")]
        id: String,
    },
    /// Write the overwritten value again, as a new change
    #[command(after_help = "Example:\n  bd conflicts restore CONFLICT-8ff5fd29")]
    Restore {
        /// Ids of the conflicts; four or more digits are enough
        #[arg(required = true, value_name = "CONFLICT")]
        ids: Vec<String>,
    },
    /// Keep the winning value and stop listing the conflict
    #[command(
        after_help = "Examples:\n  bd conflicts dismiss 8ff5fd29\n  bd conflicts dismiss --all --bead bd-a1"
    )]
    Dismiss {
        /// Ids of the conflicts; four or more digits are enough
        #[arg(required_unless_present = "all", value_name = "CONFLICT")]
        ids: Vec<String>,
        /// Every conflict that is not dismissed
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        /// With --all: only conflicts of this bead
        #[arg(long, value_name = "ID", requires = "all")]
        bead: Option<String>,
    },
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Include dismissed conflicts
    #[arg(long)]
    all: bool,
    /// Only conflicts of this bead
    #[arg(long, value_name = "ID")]
    bead: Option<String>,
}

impl ListArgs {
    fn call(self) -> Call {
        Call::ConflictList { all: self.all, bead: self.bead }
    }
}

impl Args {
    pub fn call(self) -> Call {
        match self.verb {
            None => self.list.call(),
            Some(Verb::List(list)) => list.call(),
            Some(Verb::Show { id }) => Call::ConflictShow { id },
            Some(Verb::Restore { ids }) => {
                Call::ResolveConflicts(ResolveConflicts { ids, restore: true, ..Default::default() })
            }
            Some(Verb::Dismiss { ids, all, bead }) => {
                Call::ResolveConflicts(ResolveConflicts { ids, all, bead, restore: false })
            }
        }
    }
}
