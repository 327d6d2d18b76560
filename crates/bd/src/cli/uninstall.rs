use beads_engine::client;
use beads_engine::failure::Failure;
use beads_engine::render::Answer;
use beads_engine::request::{Call, Reply};

use super::globals::Globals;

/// Remove the store from this repository (a backup is kept)
///
/// Everything is saved first and kept as refs/beads/backup/TIME; a private store is moved aside. Beads on the
/// remote stay there unless you pass --remote, and the next bd command fetches them again. Other clones that
/// sync publish the store again, so uninstall there first. To remove what bd setup wrote, use bd setup
/// --remove.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd uninstall --dry-run\n  bd uninstall\n  bd uninstall --remote")]
pub struct Args {
    /// Also remove it from the remote, after creating a backup ref there
    #[arg(long)]
    remote: bool,
    /// Show what would be removed without changing anything
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        let stop = globals.request(&place, Call::DaemonStop)?;
        let removed = client::uninstall(&place, &stop, &globals.access(), (self.remote, self.dry_run))?;
        globals.answer(Answer::Uninstalled(removed))
    }
}
