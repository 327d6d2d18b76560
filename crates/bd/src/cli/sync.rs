use beads_engine::request::Call;

use super::globals::Globals;

/// Sync the store with its remote
///
/// Fetches, merges and pushes, verifies the result, and reports the actual error if that fails. Without a
/// remote, or with --sandbox, saves everything to the local ref. A daemon syncs automatically once the remote
/// has the store. The first `bd sync`, or the setting sync.auto, publishes a new store.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd sync")]
pub struct Args {}

impl Args {
    pub fn call(self, globals: &Globals) -> Call {
        if globals.is_sandboxed() { Call::Save } else { Call::Sync }
    }
}
