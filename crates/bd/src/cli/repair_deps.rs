use beads_engine::request::Call;

/// Find dependencies on missing beads
///
/// They block nothing. --fix removes dependencies on deleted beads. A dependency on an unknown id stays,
/// because the bead may still arrive from another machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd repair-deps --json")]
pub struct Args {
    /// Remove dependencies on deleted beads
    #[arg(long)]
    fix: bool,
}

impl Args {
    pub fn call(self) -> Call {
        Call::RepairDeps { fix: self.fix }
    }
}
