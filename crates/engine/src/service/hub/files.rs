//! What this replica keeps about the hub between daemons: `hub.json` and `hub-copy.json`. Without them it
//! generates a new identity and fetches everything again, which is safe.

use std::collections::BTreeMap;
use std::path::Path;

use beads_core::Stamp;
use beads_store::hub::{HubCopy, HubSession, draw_uuid};
use beads_store::replace_file;
use serde::{Deserialize, Serialize};

/// The identity of this replica at the hub.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubFile {
    /// The id of the store.
    pub store: String,
    /// The id of this replica, a UUID.
    pub replica: String,
    /// The last number that this replica used.
    pub seq: u64,
    /// The claims that were granted to this replica, by the keys of their beads.
    #[serde(default)]
    pub own_grants: BTreeMap<String, Stamp>,
}

const IDENTITY: &str = "hub.json";
const COPY: &str = "hub-copy.json";

impl HubFile {
    /// Reads the files. Those of another store are ignored.
    pub fn load(store_dir: &Path, store: &str) -> (Self, HubCopy) {
        let read = |name: &str| std::fs::read(store_dir.join(name)).unwrap_or_default();
        let known: Self = serde_json::from_slice(&read(IDENTITY)).unwrap_or_default();
        if known.store == store && known.replica.len() == 36 {
            let copy = HubCopy::decode(&read(COPY)).unwrap_or_default();
            return (known, copy);
        }
        forget_copy(store_dir);
        let fresh = Self {
            store: store.to_owned(),
            replica: draw_uuid(random()),
            seq: 0,
            own_grants: BTreeMap::new(),
        };
        (fresh, HubCopy::default())
    }

    /// Returns the identity that a session has.
    pub fn of(store: &str, session: &HubSession) -> Self {
        Self {
            store: store.to_owned(),
            replica: session.replica.clone(),
            seq: session.seq,
            own_grants: session.own_grants(),
        }
    }

    /// Writes the identity. Errors are logged.
    pub fn save(&self, store_dir: &Path) {
        let bytes = serde_json::to_vec_pretty(self).map_err(std::io::Error::other);
        write(&store_dir.join(IDENTITY), bytes);
    }

    /// Writes the identity and the copy. Errors are logged.
    pub fn save_with(&self, store_dir: &Path, copy: &HubCopy) {
        self.save(store_dir);
        write(&store_dir.join(COPY), copy.encode().map_err(std::io::Error::other));
    }
}

/// Deletes the copy.
pub fn forget_copy(store_dir: &Path) {
    let _ = std::fs::remove_file(store_dir.join(COPY));
}

/// Returns random bits for a UUID.
pub fn random() -> [u64; 2] {
    [(); 2].map(|()| beads_store::random_u64().unwrap_or_default())
}

fn write(path: &Path, bytes: std::io::Result<Vec<u8>>) {
    if let Err(error) = bytes.and_then(|bytes| replace_file(path, &bytes)) {
        crate::log::note(&format!("cannot write {}: {error}", path.display()));
    }
}
