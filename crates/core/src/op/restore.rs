use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Applied, Guard};
use crate::{Catalog, Context, Delta, Error, Note, Patch, Result, Text};

/// Restores a deleted bead with all its content, by appending a note that is newer than the deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restore {
    /// Bead id, or a unique prefix of it
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub id: String,
    /// Preconditions
    #[serde(flatten)]
    pub guard: Guard,
    /// Why the bead is restored, recorded as a note
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
}

impl Restore {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let lineage = catalog.resolve_any_to_change(&self.id)?;
        let bead = catalog.bead(lineage).ok_or_else(|| Error::NotFound(self.id.clone()))?;
        self.guard.check(catalog, lineage, bead)?;
        if bead.deletion.is_none() {
            return Ok(Applied::unchanged(lineage));
        }
        let mark = context.mark(bead.stamps())?;
        let text = if self.reason.is_empty() { "restored".parse()? } else { self.reason.clone() };
        let patch =
            Patch { notes: vec![Arc::new(Note::new(lineage, &mark, text, None))], ..Patch::default() };
        Ok(Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)))
    }
}
