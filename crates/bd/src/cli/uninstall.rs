use beads_engine::client;
use beads_engine::failure::Failure;
use beads_engine::render::Answer;
use beads_engine::request::{Call, Reply};

use super::globals::Globals;

/// Remove the store from this repository, and keep a backup
///
/// Everything is saved first, and what the store held stays as refs/beads/backup/TIME; a private store is moved aside. Beads on the
/// remote stay there unless --remote is given, and a later bd command joins them again. Other clones that synchronise publish
/// the store again: uninstall there first. What bd setup wrote is removed with bd setup --remove.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd uninstall --dry-run\n  bd uninstall\n  bd uninstall --remote")]
pub struct Args {
    /// Remove it from the remote, too, after a backup ref there
    #[arg(long)]
    remote: bool,
    /// Change nothing, and show what would be removed
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
