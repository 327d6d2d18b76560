use beads_engine::request::Call;

/// Take back what you did last
///
/// What your last operation in this clone wrote gets its former values again, as a new operation: a bead that you made is deleted, one that you
/// deleted comes back, fields, labels, claims and dependencies are as before; an atomic batch is taken back whole. If somebody
/// wrote there since, nothing happens and you are told who. Notes stay. Undoing twice does it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd undo --dry-run\n  bd undo --json")]
pub struct Args {
    /// Show what would be taken back, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub fn call(self) -> Call {
        Call::Undo { dry_run: self.dry_run }
    }
}
