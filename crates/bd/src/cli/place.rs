use beads_engine::escape::escape;
use beads_engine::failure::Failure;
use beads_engine::place::{Kind, Place};
use beads_engine::render::{self, PlaceAnswer};
use beads_engine::request::{Format, Reply};
use beads_store::{GitRepository, Repository, default_remote};

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
                exists: has_store(&place),
                reference: beads_store::REF,
                socket: socket.path().to_owned(),
                git_dir: place.git_dir,
            }),
            _ => format!("{}\n", escape(&place.store_dir().display().to_string())),
        }))
    }
}

/// Returns whether there is a store: a directory with its journal, or a saved or fetched state that the first command
/// opens.
pub fn has_store(place: &Place) -> bool {
    let is_saved = || {
        let is_here = |git: GitRepository| {
            git.has_commit(beads_store::REF) || git.tracked().is_ok_and(|tips| !tips.is_empty())
        };
        GitRepository::open(&place.git_dir).is_ok_and(is_here)
    };
    place.exists() && (place.store_dir().is_dir() || is_saved())
}

/// Returns whether the remote may have a store that `git fetch` does not bring into this clone, because it is shallow or
/// has a single branch.
pub fn may_fetch_store(place: &Place) -> bool {
    let remote = || default_remote(&place.git_dir).ok().flatten();
    let is_left_out = |remote: String| {
        GitRepository::open(&place.git_dir).is_ok_and(|git| !git.is_fetched_by_default(&remote))
    };
    place.kind == Kind::Repository && remote().is_some_and(is_left_out)
}
