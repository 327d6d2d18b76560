use beads_engine::daemon::VERSION;
use beads_engine::render::{self, VersionAnswer};
use beads_engine::request::{Format, Reply};
use beads_engine::wire::{FEATURES, PROTOCOL_VERSION};

use super::globals::Globals;
use super::stdout_reply;

/// The commit that this was built from. Only `cargo xtask dist` sets it: otherwise every commit would rebuild
/// the program.
const COMMIT: Option<&str> = option_env!("BD_COMMIT");

/// Print the version
///
/// --json also has the commit of a release build, the versions of the file format and the socket protocol,
/// and the features that clients may rely on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd version --json")]
pub struct Args {}

impl Args {
    pub fn run(self, globals: &Globals) -> Reply {
        stdout_reply(match globals.format() {
            Format::Json => render::json(&VersionAnswer {
                version: VERSION,
                implementation: "beads-rs",
                commit: COMMIT,
                format_version: beads_core::snapshot::FORMAT_VERSION,
                protocol_version: PROTOCOL_VERSION,
                features: FEATURES,
            }),
            _ => format!("bd {VERSION}\n"),
        })
    }
}
