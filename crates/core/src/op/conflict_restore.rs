use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Applied;
use super::conflict_dismiss::{dismissed, find};
use crate::{Catalog, ConflictId, Context, Delta, Error, Patch, Result};

/// Writes the losing value of a conflict again, as a new write on all replicas, and dismisses the conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConflictRestore {
    /// The conflict whose losing value to restore.
    pub id: ConflictId,
}

impl ConflictRestore {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let conflict = find(catalog, &self.id)?;
        let id = catalog.id_of(&conflict.bead);
        let bead =
            catalog.bead(catalog.resolve(id.as_str())?).ok_or_else(|| Error::NotFound(id.to_string()))?;
        let mark = context.mark(bead.stamps())?;
        let patch = Patch::from_json(conflict.field, &conflict.value, &mark)
            .map_err(|reason| Error::invalid("conflict", format!("{}: {reason}", self.id)))?;
        let delta = Delta {
            beads: BTreeMap::from([(conflict.bead.clone(), patch)]),
            conflicts: vec![dismissed(conflict, mark)],
            ..Delta::default()
        };
        Ok(Applied::bead(&conflict.bead, delta))
    }
}
