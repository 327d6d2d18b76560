use beads_engine::request::{Call, GraphFormat, Query};

/// Draw the dependency graph with its critical path
///
/// Shows unfinished beads. With an ID, shows only that bead, its descendants, what they wait for, and what
/// waits for them. The critical path is the longest chain, weighted by estimates if there are any. --json
/// prints the graph as data.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd graph bd-a1\n  bd graph --format mermaid\n  bd graph --format svg > graph.svg"
)]
pub struct Args {
    /// Only the graph around this bead
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Output format
    #[arg(long, short = 'f', value_name = "FORMAT", value_enum, default_value = "text")]
    format: GraphFormat,
    /// Include closed beads
    #[arg(long)]
    all: bool,
}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Graph { id: self.id, closed: self.all, format: self.format })
    }
}
