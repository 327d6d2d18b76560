use beads_engine::request::{Call, LabelWords, Query};
use clap::Subcommand;

use super::guard::GuardArgs;

/// Add, remove and list labels
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd label\n  bd label add bd-a1 backend urgent\n  bd label add bd-a1 bd-b2 backend"
)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Add labels to beads
    #[command(
        after_help = "Examples:\n  bd label add bd-a1 backend urgent\n  bd label add bd-a1 bd-b2 backend"
    )]
    Add(Many),
    /// Remove labels from beads
    #[command(visible_alias = "rm", after_help = "Example:\n  bd label remove bd-a1 backend")]
    Remove(Many),
    /// List the labels of a bead; without an id, all labels with counts
    #[command(after_help = "Example:\n  bd label list bd-a1")]
    List {
        /// Id of the bead; an unambiguous prefix is enough
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// List all labels with counts
    #[command(after_help = "Example:\n  bd label list-all")]
    ListAll,
}

#[derive(Debug, clap::Args)]
struct Many {
    /// One or more ids, then one or more labels. A word between the first and the last is an id if a bead
    /// has it or if it begins with the prefix of ids
    #[arg(required = true, num_args = 2.., value_names = ["ID", "LABEL"])]
    ids_and_labels: Vec<String>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Many {
    fn words(self, remove: bool) -> Call {
        Call::Label(LabelWords { guard: self.guard.guard(), words: self.ids_and_labels, remove })
    }
}

impl Args {
    pub fn call(self) -> Call {
        match self.verb.unwrap_or(Verb::ListAll) {
            Verb::Add(many) => many.words(false),
            Verb::Remove(many) => many.words(true),
            Verb::List { id: Some(id) } => Call::query(Query::LabelsOf { id }),
            Verb::List { id: None } | Verb::ListAll => Call::query(Query::Labels),
        }
    }
}
