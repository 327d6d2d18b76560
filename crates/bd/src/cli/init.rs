use beads_core::counted;
use beads_core::query::Filter;
use beads_engine::failure::{Failure, exit};
use beads_engine::place::Place;
use beads_engine::request::{Call, Query, Reply};

use super::ask_at;
use super::globals::Globals;
use super::place::has_store;

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
        let mut created = ask_at(&place, globals, call, |_| ())?;
        if self.private && created.exit == exit::OK && !globals.is_quiet() {
            created.stderr.push_str(&hidden_store_warning(&place, globals).unwrap_or_default());
        }
        if !self.sync || created.exit != exit::OK {
            return Ok(created);
        }
        // A failed sync is reported, but the store stays.
        let synced = ask_at(&place, globals, Call::Sync, |_| ())?;
        if synced.exit == exit::OK { Ok(created) } else { Ok(synced) }
    }
}

/// Returns a warning if the private store hides the beads of the repository's store.
fn hidden_store_warning(private: &Place, globals: &Globals) -> Option<String> {
    // A store in a directory with another name is used only when it is named.
    private.git_dir.parent()?.file_name().filter(|name| *name == ".beads")?;
    let shared = Place::of_repository(private.home()).ok()?.filter(has_store)?;
    let call = Call::query(Query::Count { filter: Filter::default(), by: None });
    let answer: serde_json::Value = globals.value(&shared, call).ok()?;
    let hidden = answer["count"].as_u64().filter(|hidden| *hidden > 0)?;
    Some(format!(
        "warning: bd here now uses this private store, which hides {} of the repository's store; to go back, run \
         bd uninstall here, after bd import --from private-store .beads if the private store has beads to keep\n",
        counted(hidden, "bead")
    ))
}
