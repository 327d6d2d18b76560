use beads_engine::request::{Call, Query};

/// Show what was done to a bead, by whom and when
///
/// From the commits of the store and the journal, oldest first. What was overwritten within the same few seconds may have been
/// saved only once, and then only the last value is known.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd log bd-a1 --json")]
pub struct Args {
    /// The bead; deleted ones have a past too
    #[arg(value_name = "ID")]
    id: String,
}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Log { id: self.id })
    }
}
