use serde_json::json;

use super::answered;
use super::globals::Globals;
use crate::failure::Failure;
use crate::place::Kind;
use crate::render;
use crate::request::{Format, Reply};

/// Tell where the store is
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd where")]
pub struct Args {}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        let socket = crate::daemon::SocketPath::of(&place);
        Ok(answered(match globals.format() {
            Format::Json => render::json(&json!({
                "path": place.store_dir(),
                "git_dir": place.git_dir,
                "private": place.kind == Kind::Private,
                "exists": place.exists(),
                "ref": beads_store::REF,
                "socket": socket.path(),
            })),
            _ => format!("{}\n", place.store_dir().display()),
        }))
    }
}
