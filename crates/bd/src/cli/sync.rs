use beads_engine::request::Call;

use super::globals::Globals;

/// Bring this replica and its remote into step
///
/// Fetched, merged, pushed and seen, or the real error. Without a remote everything is saved to the local ref. A daemon
/// does this by itself where the remote has the store; a new one is published by the first `bd sync`, or with the setting sync.auto.
/// Run it when you want to be sure. With --sandbox the remote is left alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd sync")]
pub struct Args {}

impl Args {
    pub fn call(self, globals: &Globals) -> Call {
        if globals.is_sandboxed() { Call::Save } else { Call::Sync }
    }
}
