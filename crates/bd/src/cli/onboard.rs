use beads_engine::request::Reply;

use super::globals::Globals;
use super::text_reply;

const TEXT: &str = "\
## Tracking work

This project tracks its work with `bd`. Run `bd prime` at the start of a session: it explains how to find, claim and finish
work. Do not keep other task lists; create a bead for everything you come across (`bd create`).
";

/// Print a paragraph for AGENTS.md
///
/// Only prints it and changes no file; see `bd setup` for that.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd onboard >> AGENTS.md")]
pub struct Args {}

impl Args {
    pub fn run(self, globals: &Globals) -> Reply {
        text_reply(TEXT, globals)
    }
}
