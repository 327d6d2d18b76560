//! The record of beads that were saved while the archive could not be reached (docs/adr/0083-archive.md). They
//! were joined with a hollow bead, so the archive may have writes that they lack. A later sync adds those.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use beads_core::Lineage;

use crate::replace_file::replace_file;
use crate::{Error, GitRepository, Result};

/// A JSON array of lineages in the store's directory; absent if there are none.
const FILE: &str = "unhealed";

impl GitRepository {
    fn unhealed_file(&self) -> PathBuf {
        self.git.commondir().join("beads").join(FILE)
    }

    pub(crate) fn read_unhealed(&self) -> Result<BTreeSet<Lineage>> {
        let path = self.unhealed_file();
        let failed = |source| Error::Io { action: "read", path: path.clone(), source };
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(error.into())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(failed(error)),
        }
    }

    pub(crate) fn write_unhealed(&self, beads: &BTreeSet<Lineage>) -> Result<()> {
        let path = self.unhealed_file();
        let write = || -> std::io::Result<()> {
            if beads.is_empty() {
                return match fs::remove_file(&path) {
                    Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                };
            }
            fs::create_dir_all(path.parent().unwrap_or(self.git.commondir()))?;
            replace_file(&path, &serde_json::to_vec(beads)?)
        };
        write().map_err(|source| Error::Io { action: "write", path: path.clone(), source })
    }
}
