use serde::{Deserialize, Serialize};

use super::{Applied, Guard};
use crate::{Catalog, Context, Deletion, Delta, Patch, Result, Text};

/// Deletes a bead. The tombstone keeps its content, so `restore` can bring it back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delete {
    /// Bead id, or a unique prefix of it
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub id: String,
    /// Preconditions
    #[serde(flatten)]
    pub guard: Guard,
    /// Why the bead is deleted
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
}

impl Delete {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let (lineage, bead) = self.guard.bead(catalog, &self.id)?;
        let mark = context.mark(bead.stamps())?;
        let patch = Patch { deletion: Some(Deletion::new(mark, self.reason.clone())), ..Patch::default() };
        Ok(Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)))
    }
}
