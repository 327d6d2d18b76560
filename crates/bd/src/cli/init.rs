use beads_engine::failure::{Failure, exit};
use beads_engine::request::{Call, Reply};

use super::ask_at;
use super::globals::Globals;

/// Create the store (does nothing if it exists)
///
/// Needed once in a new project at most: the first write creates the store too, and a clone finds it by itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd init --prefix app\n  bd init --compat\n  bd init --sync")]
pub struct Args {
    /// What minted ids start with
    #[arg(long, short = 'p', value_name = "PREFIX")]
    prefix: Option<String>,
    /// Set this clone up for programs written for the Go bd
    ///
    /// --json then prints the compat dialect, .beads/metadata.json marks the work tree as theirs, and .beads/issues.jsonl is kept
    /// up to date for those that watch it. Git ignores both files through .git/info/exclude. Settings belong to one
    /// clone: run it again in the next one.
    #[arg(long)]
    compat: bool,
    /// Create a private store in .beads here, even inside a git repository
    #[arg(long)]
    private: bool,
    /// Publish the store to the remote, and keep it in step from now on
    #[arg(long)]
    sync: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = if self.private { globals.private_place()? } else { globals.place()? };
        let call = Call::Init { prefix: self.prefix, compat: self.compat, private: self.private };
        let made = ask_at(&place, globals, call, |_| ())?;
        if !self.sync || made.exit != exit::OK {
            return Ok(made);
        }
        // What was made stands, whatever becomes of the exchange.
        let synced = ask_at(&place, globals, Call::Sync, |_| ())?;
        if synced.exit == exit::OK { Ok(made) } else { Ok(synced) }
    }
}
