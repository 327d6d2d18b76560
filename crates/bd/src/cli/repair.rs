use beads_engine::request::Call;

/// Make a damaged store readable again, discarding nothing
///
/// The damaged commit is kept under a backup reference before anything is written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd repair --dry-run")]
#[group(required = true, multiple = false)]
pub struct Args {
    /// Show what would be done
    #[arg(long)]
    dry_run: bool,
    /// Do it
    #[arg(long)]
    apply: bool,
}

impl Args {
    pub fn call(self) -> Call {
        Call::Repair { apply: self.apply && !self.dry_run }
    }
}
