use beads_core::query::Filter;

use crate::request::{Call, Query};

/// List the direct children of a bead
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd children bd-a1")]
pub struct Args {
    #[arg(value_name = "ID")]
    id: String,
}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::List(Filter { parent: Some(self.id), ..Filter::default() }))
    }
}
