use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::claim::renewal;
use super::{Applied, Guard};
use crate::{Catalog, Context, Delta, Error, Metadata, Note, Patch, Result, Text, Word};

/// Appends a note to a bead. Notes are never edited or deleted (§4.2.2).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoteAdd {
    /// Bead id, or a unique prefix of it
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub id: String,
    /// Preconditions
    #[serde(flatten)]
    pub guard: Guard,
    /// Text of the note
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::NonBlankText"))]
    pub content: Text,
    /// The kind of a structured note, such as `evidence`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub kind: Option<Word>,
    /// The data of a structured note.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub data: Metadata,
}

impl NoteAdd {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let (lineage, bead) = self.guard.bead(catalog, &self.id)?;
        if self.kind.is_none() && !self.data.is_empty() {
            return Err(Error::invalid("note", "it has data but no kind"));
        }
        if self.content.as_str().trim().is_empty() && self.data.is_empty() {
            return Err(Error::invalid("note", "it is empty"));
        }
        let mark = context.mark(bead.stamps())?;
        let content = self.content.clone();
        let note = match &self.kind {
            Some(kind) => Note::structured(lineage, &mark, content, kind.clone(), self.data.clone()),
            None => Note::new(lineage, &mark, content, None),
        };
        let appended = Some(note.id.clone());
        let patch =
            Patch { claim: renewal(bead, &mark, context)?, notes: vec![Arc::new(note)], ..Patch::default() };
        Ok(Applied { note: appended, ..Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)) })
    }
}
