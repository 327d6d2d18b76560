use beads_engine::daemon::VERSION;
use beads_engine::render::{self, VersionAnswer};
use beads_engine::request::{Format, Reply};

use super::globals::Globals;
use super::stdout_reply;

/// Print the version
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd version --json")]
pub struct Args {}

impl Args {
    pub fn run(self, globals: &Globals) -> Reply {
        stdout_reply(match globals.format() {
            Format::Json => render::json(&VersionAnswer {
                version: VERSION,
                implementation: "beads-rs",
                format_version: beads_core::snapshot::FORMAT_VERSION,
            }),
            _ => format!("bd {VERSION}\n"),
        })
    }
}
