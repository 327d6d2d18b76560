use beads_engine::failure::{Failure, exit};
use beads_engine::request::{Call, Reply};

use super::ask_at;
use super::globals::Globals;

/// Create the store (does nothing if it exists)
///
/// Optional: the first write creates the store too, and a clone uses the store of its remote.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd init --prefix app\n  bd init --compat\n  bd init --sync")]
pub struct Args {
    /// Prefix of generated ids
    #[arg(long, short = 'p', value_name = "PREFIX")]
    prefix: Option<String>,
    /// Set up this clone for programs written for the Go bd
    ///
    /// --json then prints the compat dialect, .beads/metadata.json marks the work tree, and
    /// .beads/issues.jsonl is kept up to date. Git ignores both files through .git/info/exclude. These
    /// settings belong to one clone; run the command in each clone.
    #[arg(long)]
    compat: bool,
    /// Create a private store in .beads of this directory, even inside a git repository
    #[arg(long)]
    private: bool,
    /// Publish the store to the remote and keep it in sync
    #[arg(long)]
    sync: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = if self.private { globals.private_place()? } else { globals.place()? };
        let call = Call::Init { prefix: self.prefix, compat: self.compat, private: self.private };
        let created = ask_at(&place, globals, call, |_| ())?;
        if !self.sync || created.exit != exit::OK {
            return Ok(created);
        }
        // A failed sync is reported, but the store stays.
        let synced = ask_at(&place, globals, Call::Sync, |_| ())?;
        if synced.exit == exit::OK { Ok(created) } else { Ok(synced) }
    }
}
