use beads_core::op::Update;
use beads_core::{Label, Op};
use clap::Subcommand;

use crate::failure::Failure;
use crate::request::{Call, Mutate, Query};

/// Add, remove and list labels
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd label add bd-a1 bd-b2 backend")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Put a label on beads
    #[command(after_help = "Example:\n  bd label add bd-a1 bd-b2 backend")]
    Add(Many),
    /// Take a label off beads
    #[command(after_help = "Example:\n  bd label remove bd-a1 backend")]
    Remove(Many),
    /// The labels of a bead
    #[command(after_help = "Example:\n  bd label list bd-a1")]
    List {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Every label in use, with counts
    #[command(after_help = "Example:\n  bd label list-all")]
    ListAll,
}

#[derive(Debug, clap::Args)]
struct Many {
    /// One or more ids, and the label last
    #[arg(required = true, num_args = 2.., value_names = ["ID", "LABEL"])]
    ids_and_label: Vec<String>,
}

impl Many {
    fn split(mut self) -> Result<(Vec<String>, Label), Failure> {
        let label = self.ids_and_label.pop().unwrap_or_default();
        Ok((self.ids_and_label, label.parse()?))
    }
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let mutate = |ids: Vec<String>, op: &dyn Fn(String) -> Update| {
            let ops = ids.into_iter().map(|id| Op::Update(Box::new(op(id)))).collect();
            Call::Mutate(Mutate { ops, many: true, dry_run: false })
        };
        match self.verb {
            Verb::Add(many) => {
                let (ids, label) = many.split()?;
                Ok(mutate(ids, &|id| Update { add_labels: vec![label.clone()], ..Update::of(id) }))
            }
            Verb::Remove(many) => {
                let (ids, label) = many.split()?;
                Ok(mutate(ids, &|id| Update { remove_labels: vec![label.clone()], ..Update::of(id) }))
            }
            Verb::List { id } => Ok(Call::query(Query::LabelsOf { id })),
            Verb::ListAll => Ok(Call::query(Query::Labels)),
        }
    }
}
