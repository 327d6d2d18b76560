//! What this clone knows about claim refs, kept in `claim-refs.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use beads_store::{ClaimBook, OwnClaim, Watch, Watched, replace_file};
use serde::{Deserialize, Serialize};

/// A server that rejects claim refs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedRefs {
    /// The prefix of the rejected refs.
    pub prefix: String,
    /// What the server said.
    pub reason: String,
    /// When it was last rejected.
    pub since_ms: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    machine: String,
    own: BTreeMap<String, OwnClaim>,
    watched: BTreeMap<String, Watched>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<RefusedRefs>,
}

/// The claim refs that this clone knows, and the file that keeps them.
#[derive(Debug, Default)]
pub struct ClaimRefs {
    path: PathBuf,
    /// A random id of this clone, which makes each machine try beads in a different order.
    pub machine: String,
    /// Set while the server rejects claim refs.
    pub refused: Option<RefusedRefs>,
    /// The claims of this clone, and what it has seen of others.
    pub book: ClaimBook,
}

impl ClaimRefs {
    /// Reads the file. A missing or damaged file is treated as empty: its claims then look like those of
    /// another clone, which is safe.
    pub fn load(store_dir: &Path) -> Self {
        let path = store_dir.join("claim-refs.json");
        let bytes = std::fs::read(&path).unwrap_or_default();
        let stored: Stored = serde_json::from_slice(&bytes).unwrap_or_default();
        let fresh = || format!("{:016x}", beads_store::random_u64().unwrap_or_default());
        let machine = if stored.machine.is_empty() { fresh() } else { stored.machine };
        let watch = Watch::new(stored.watched);
        let book = ClaimBook { own: stored.own, watch, ..ClaimBook::default() };
        Self { path, machine, refused: stored.refused, book }
    }

    /// Writes the file. Errors are logged.
    pub fn save(&self) {
        let stored = Stored {
            machine: self.machine.clone(),
            own: self.book.own.clone(),
            watched: self.book.watch.all(),
            refused: self.refused.clone(),
        };
        let bytes = serde_json::to_vec_pretty(&stored).map_err(std::io::Error::other);
        if let Err(error) = bytes.and_then(|bytes| replace_file(&self.path, &bytes)) {
            crate::log::note(&format!("cannot write {}: {error}", self.path.display()));
        }
    }
}
