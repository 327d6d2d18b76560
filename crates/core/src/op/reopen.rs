use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Applied, Guard};
use crate::{Catalog, Claim, Context, Delta, Error, Note, Patch, Register, Result, Status, Text};

/// Reopens a closed bead. The claim under which it was closed ends, so any actor can claim it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reopen {
    /// Bead id, or a unique prefix of it
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub id: String,
    /// Preconditions
    #[serde(flatten)]
    pub guard: Guard,
    /// New status; in_progress keeps the claim
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Reopened>"))]
    pub status: Option<Status>,
    /// Why the bead is reopened, recorded as a note
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
}

impl Reopen {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let (lineage, bead) = self.guard.bead(catalog, &self.id)?;
        let status = self.status.unwrap_or_default();
        if status == Status::Closed {
            return Err(Error::invalid("status", "a bead can be reopened as open or in_progress"));
        }
        if bead.status.value.status != Status::Closed {
            return Ok(Applied::unchanged(lineage));
        }
        let mark = context.mark(bead.stamps())?;
        let note = |text: &Text| Arc::new(Note::new(lineage, &mark, text.clone(), None));
        let claim_over = status == Status::Open && bead.claim.assignee.is_some();
        let patch = Patch {
            status: Some(Register::new(mark.clone(), status.into())),
            claim: claim_over.then(|| Claim::new(mark.clone(), None, None)),
            notes: if self.reason.is_empty() { Vec::new() } else { vec![note(&self.reason)] },
            ..Patch::default()
        };
        Ok(Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)))
    }
}
