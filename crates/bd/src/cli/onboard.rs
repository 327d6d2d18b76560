use beads_engine::request::Reply;

use super::globals::Globals;
use super::text_reply;

const TEXT: &str = "\
## Tracking work

This project tracks its work with `bd`. Run `bd prime` at the start of a session: it tells how to find, take and finish
work. Keep no other lists of tasks; what you come across becomes a bead (`bd create`).
";

/// Print a paragraph for AGENTS.md
///
/// It is only printed; where it goes is up to you.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd onboard >> AGENTS.md")]
pub struct Args {}

impl Args {
    pub fn run(self, globals: &Globals) -> Reply {
        text_reply(TEXT, globals)
    }
}
