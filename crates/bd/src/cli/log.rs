use beads_engine::request::{Call, Query};

/// Show the history of a bead
///
/// Lists who changed what and when, oldest first. If a field changed several times within a few seconds, the
/// history may contain only the last value.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd log bd-a1 --json")]
pub struct Args {
    /// Id of the bead, which may be deleted
    #[arg(value_name = "ID")]
    id: String,
}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Log { id: self.id })
    }
}
