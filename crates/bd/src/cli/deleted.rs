use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};

/// List deleted beads, with who deleted them and why
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd deleted --json\n  bd deleted bd-a1")]
pub struct Args {
    /// Only these beads, by full id; an id that is not deleted is an error
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// List all (the default)
    #[arg(long, conflicts_with = "ids")]
    all: bool,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        if let Some(empty) = self.ids.iter().find(|id| id.trim().is_empty()) {
            return Err(Failure::invalid(format!("{empty:?} is not an id")));
        }
        Ok(Call::query(if self.all || self.ids.is_empty() {
            Query::Deleted
        } else {
            Query::DeletedBeads { ids: self.ids }
        }))
    }
}
