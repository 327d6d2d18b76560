use beads_core::Actor;
use beads_engine::request::Call;

/// Reopen beads whose lease has expired
///
/// Each bead gets a note with its last holder. This is optional: `bd ready` and `bd claim --next` offer such
/// beads anyway.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd reclaim --expired\n  bd reclaim --assignee ann@mac")]
pub struct Args {
    /// Beads with an expired lease (required unless --assignee is given; there is no other kind)
    #[arg(long = "expired", id = "expired", required_unless_present = "assignee")]
    _expired: bool,
    /// Only beads that NAME held
    #[arg(long, short = 'a', value_name = "NAME")]
    assignee: Option<Actor>,
    /// Show which beads would be reopened
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub fn call(self) -> Call {
        Call::ReclaimExpired { assignee: self.assignee, dry_run: self.dry_run }
    }
}
