use beads_engine::request::{Call, GraphFormat, Query};

/// Draw who waits for whom, with the critical path marked
///
/// Unfinished beads; with an ID those around it: below it, what they wait for, and what waits for them. The critical path
/// is the chain that takes longest, by estimates where there are any. --json gives the graph as data.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd graph bd-a1\n  bd graph --format mermaid\n  bd graph --format svg > graph.svg"
)]
pub struct Args {
    /// Only what is around this bead
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// What to draw it as
    #[arg(long, short = 'f', value_name = "FORMAT", value_enum, default_value = "text")]
    format: GraphFormat,
    /// Closed beads too
    #[arg(long)]
    all: bool,
}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Graph { id: self.id, closed: self.all, format: self.format })
    }
}
