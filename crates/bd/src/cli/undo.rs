use beads_engine::request::Call;

/// Undo your last operation; repeated, the one before it
///
/// Restores the previous values with a new operation: a bead that you created is deleted, a bead that you
/// deleted is restored, and fields, labels, claims and dependencies get their previous values. An atomic
/// batch is undone as a whole. Notes stay. If another actor has changed the same values since, nothing is
/// changed and the error names them. Run it again to go further back, up to 32 operations; --redo goes
/// forward again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd undo --dry-run\n  bd undo\n  bd undo --redo")]
pub struct Args {
    /// Show what would be undone without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Redo the operation that you undid last
    #[arg(long, conflicts_with = "skip")]
    redo: bool,
    /// Skip operations that can never be undone, such as notes and imports
    #[arg(long)]
    skip: bool,
}

impl Args {
    pub fn call(self) -> Call {
        Call::Undo { dry_run: self.dry_run, redo: self.redo, skip: self.skip }
    }
}
