use beads_engine::escape::escape;
use beads_engine::failure::Failure;
use beads_engine::place::Kind;
use beads_engine::render::{self, PlaceAnswer};
use beads_engine::request::{Format, Reply};

use super::globals::Globals;
use super::stdout_reply;

/// Show where the store is
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd where")]
pub struct Args {}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        let socket = beads_engine::daemon::SocketPath::of(&place);
        Ok(stdout_reply(match globals.format() {
            Format::Json => render::json(&PlaceAnswer {
                path: place.store_dir(),
                database_path: place.store_dir(),
                private: place.kind == Kind::Private,
                exists: place.exists(),
                reference: beads_store::REF,
                socket: socket.path().to_owned(),
                git_dir: place.git_dir,
            }),
            _ => format!("{}\n", escape(&place.store_dir().display().to_string())),
        }))
    }
}
