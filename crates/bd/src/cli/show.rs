use crate::request::{Call, Query};

/// Show beads in full
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd show bd-a1 bd-b2 --json")]
pub struct Args {
    /// Ids, or beginnings of ids that fit only one bead
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

impl Args {
    pub fn call(self) -> Call {
        Call::query(Query::Show { ids: self.ids })
    }
}
