use beads_engine::request::Call;

/// Make a damaged store readable again, discarding nothing
///
/// The damaged commit is kept under a backup reference before anything is written.
///
/// --reset-gc-floor takes back a garbage-collection floor that a clock far ahead had raised: deletions are remembered again, and
/// deleted beads that any replica still holds come back with its next sync. Who did it stays in the settings of the store.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd repair --dry-run\n  bd repair --reset-gc-floor")]
#[group(required = true, multiple = false)]
pub struct Args {
    /// Show what would be done
    #[arg(long)]
    dry_run: bool,
    /// Do it
    #[arg(long)]
    apply: bool,
    /// Start the next epoch of the garbage-collection floor
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
