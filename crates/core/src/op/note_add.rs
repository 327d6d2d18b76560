use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::claim::renewal;
use super::{Applied, Guard};
use crate::{Catalog, Context, Delta, Error, Note, Patch, Result, Text};

/// Appends to a bead's log. Notes are never edited and never deleted (§4.2.2).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteAdd {
    pub id: String,
    #[serde(flatten)]
    pub guard: Guard,
    pub content: Text,
}

impl NoteAdd {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let lineage = catalog.resolve_to_change(&self.id)?;
        let bead = catalog.bead(lineage).ok_or_else(|| Error::NotFound(self.id.clone()))?;
        self.guard.check(catalog, lineage, bead)?;
        if self.content.as_str().trim().is_empty() {
            return Err(Error::invalid("note", "it is empty"));
        }
        let mark = context.mark(bead.stamps())?;
        let note = Note::new(lineage, &mark, self.content.clone(), None);
        let appended = Some(note.id.clone());
        let patch =
            Patch { claim: renewal(bead, &mark, context)?, notes: vec![Arc::new(note)], ..Patch::default() };
        Ok(Applied { note: appended, ..Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)) })
    }
}
