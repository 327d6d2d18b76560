use beads_engine::request::Call;

/// Take back what nobody works on any more
///
/// Beads whose lease ran out are open again, each with a note that says whose it was. `bd ready` and `bd claim --next` offer
/// such beads anyway; this only clears the table.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd reclaim --expired")]
pub struct Args {
    /// Those whose lease ran out; there is no other reason to take a bead back without asking
    #[arg(long, required = true)]
    expired: bool,
    /// Only say which
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub fn call(self) -> Call {
        Call::ReclaimExpired { dry_run: self.dry_run }
    }
}
