use beads_core::query::Filter;
use beads_engine::request::{Call, Query};

/// List the direct children of a bead
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd children bd-a1")]
pub struct Args {
    /// Id of the bead; an unambiguous prefix is enough
    #[arg(value_name = "ID")]
    id: String,
    /// Show each child in full
    #[arg(long)]
    detailed: bool,
}

impl Args {
    pub fn call(self) -> Call {
        let filter = Filter { parent: Some(self.id), ..Filter::default() };
        Call::query(if self.detailed { Query::Details(filter) } else { Query::List(filter) })
    }
}
