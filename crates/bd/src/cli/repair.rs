use beads_engine::request::Call;

/// Repair a damaged store without discarding anything
///
/// Before anything is written, the damaged commit is kept under a backup ref.
///
/// --reset-gc-floor resets a garbage-collection floor that a fast clock had raised. Deletions are remembered
/// again, and deleted beads that a replica still holds come back when it next syncs. The settings of the
/// store record who reset the floor.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd repair --dry-run\n  bd repair --reset-gc-floor")]
#[group(required = true, multiple = false)]
pub struct Args {
    /// Show the plan
    #[arg(long)]
    dry_run: bool,
    /// Carry out the plan
    #[arg(long)]
    apply: bool,
    /// Reset the garbage-collection floor and start its next epoch
    #[arg(long)]
    reset_gc_floor: bool,
}

impl Args {
    pub fn call(self) -> Call {
        if self.reset_gc_floor {
            return Call::ResetGcFloor;
        }
        Call::Repair { apply: self.apply && !self.dry_run }
    }
}
