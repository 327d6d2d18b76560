use beads_engine::request::Call;

/// Find dependencies on beads that are gone
///
/// They block nothing. With --fix those are removed whose bead was deleted; one to an id that no bead ever held here stays,
/// because the bead may still come from another machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd repair-deps --json")]
pub struct Args {
    /// Remove them
    #[arg(long)]
    fix: bool,
}

impl Args {
    pub fn call(self) -> Call {
        Call::RepairDeps { fix: self.fix }
    }
}
