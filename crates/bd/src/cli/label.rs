use beads_core::op::Update;
use beads_core::{Label, Op};
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Mutate, Query};
use clap::Subcommand;

use super::guard::GuardArgs;

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
    #[command(flatten)]
    guard: GuardArgs,
}

impl Many {
    /// An update of each bead, all but the labels filled in, and the label.
    fn split(mut self) -> Result<(Vec<Update>, Label), Failure> {
        let label = self.ids_and_label.pop().unwrap_or_default().parse()?;
        let guard = self.guard.guard();
        let update = |id| Update { guard: guard.clone(), ..Update::of(id) };
        Ok((self.ids_and_label.into_iter().map(update).collect(), label))
    }
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let mutate = |updates: Vec<Update>, change: &dyn Fn(&mut Update)| {
            let op = |mut update| {
                change(&mut update);
                Op::Update(Box::new(update))
            };
            let ops = updates.into_iter().map(op).collect();
            Call::Mutate(Mutate { ops, many: true, dry_run: false })
        };
        match self.verb {
            Verb::Add(many) => {
                let (updates, label) = many.split()?;
                Ok(mutate(updates, &|update| update.add_labels.push(label.clone())))
            }
            Verb::Remove(many) => {
                let (updates, label) = many.split()?;
                Ok(mutate(updates, &|update| update.remove_labels.push(label.clone())))
            }
            Verb::List { id } => Ok(Call::query(Query::LabelsOf { id })),
            Verb::ListAll => Ok(Call::query(Query::Labels)),
        }
    }
}
