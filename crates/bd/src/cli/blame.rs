use beads_engine::request::{Call, Query};

/// Show who set each field of a bead, and when
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd blame bd-a1")]
pub struct Args {
    /// Id of the bead, which may be deleted
    #[arg(value_name = "ID")]
    id: String,
}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Blame { id: self.id })
    }
}
