//! What this clone knows of claim refs, kept over restarts in `claim-refs.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use beads_store::{ClaimBook, Own, Watch, Watched, replace_file};
use serde::{Deserialize, Serialize};

/// A server that does not let claim refs be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedRefs {
    pub prefix: String,
    pub reason: String,
    pub since_ms: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    machine: String,
    own: BTreeMap<String, Own>,
    watched: BTreeMap<String, Watched>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<RefusedRefs>,
}

/// What is kept of claim refs, and where.
#[derive(Debug, Default)]
pub struct ClaimRefs {
    path: PathBuf,
    /// What this clone is called where machines are spread over the work.
    pub machine: String,
    pub refused: Option<RefusedRefs>,
    pub book: ClaimBook,
}

impl ClaimRefs {
    /// A file that is not there or cannot be read knows nothing: then the claims in it are those of a stranger, and safe.
    pub fn load(store_dir: &Path) -> Self {
        let path = store_dir.join("claim-refs.json");
        let bytes = std::fs::read(&path).unwrap_or_default();
        let stored: Stored = serde_json::from_slice(&bytes).unwrap_or_default();
        let fresh = || format!("{:016x}", getrandom::u64().unwrap_or_default());
        let machine = if stored.machine.is_empty() { fresh() } else { stored.machine };
        let watch = Watch::new(stored.watched);
        let book = ClaimBook { own: stored.own, watch, ..ClaimBook::default() };
        Self { path, machine, refused: stored.refused, book }
    }

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
