use serde::{Deserialize, Serialize};

use super::Applied;
use crate::snapshot::FORMAT_VERSION_WITHOUT_ARCHIVE;
use crate::{Catalog, Context, Delta, Error, Result};

/// Raises the format version of the store, even if it uses none of the newer features yet. It cannot be
/// lowered. Only archiving a bead raises it to the version that archived beads need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RaiseFormat {
    /// The format version to use.
    pub version: u64,
}

impl RaiseFormat {
    pub(super) fn apply(&self, catalog: &Catalog, _: &mut Context<'_>) -> Result<Applied> {
        if self.version <= catalog.state().format_version() {
            return Ok(Applied::default());
        }
        if self.version > FORMAT_VERSION_WITHOUT_ARCHIVE {
            return Err(Error::NewerFormat { found: self.version, known: FORMAT_VERSION_WITHOUT_ARCHIVE });
        }
        let delta = Delta { format_version: Some(self.version), ..Delta::default() };
        Ok(Applied { delta, ..Applied::default() })
    }
}
