use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Applied, Guard};
use crate::{Catalog, Claim, Context, Delta, Error, Note, Patch, Register, Result, Status, Text};

/// Releases a claim. Only its holder may do that, unless the lease has expired or `force` is set. The status
/// register is written only if it stores `in_progress`, set by an older version or on request: otherwise the
/// bead would stay in progress without a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unclaim {
    /// Bead id, or a unique prefix of it
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub id: String,
    /// Preconditions
    #[serde(flatten)]
    pub guard: Guard,
    /// Release another actor's claim; needs a reason
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Why the claim is released, recorded as a note
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
}

impl Unclaim {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let (lineage, bead) = self.guard.bead(catalog, &self.id)?;
        if let Some(holder) = bead.claim.holder(context.lease_now_ms())
            && *holder != context.actor
            && !self.force
        {
            return Err(Error::NotHolder { id: catalog.id_of(lineage).clone(), holder: holder.clone() });
        }
        let started = bead.status.value.status == Status::InProgress;
        if bead.claim.assignee.is_none() && !started {
            return Ok(Applied::unchanged(lineage));
        }
        let mark = context.mark(bead.stamps())?;
        let note = |text: &Text| Arc::new(Note::new(lineage, &mark, text.clone(), None));
        let patch = Patch {
            status: started.then(|| Register::new(mark.clone(), Status::Open.into())),
            claim: Some(Claim::new(mark.clone(), None, None)),
            notes: if self.reason.is_empty() { Vec::new() } else { vec![note(&self.reason)] },
            ..Patch::default()
        };
        Ok(Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)))
    }
}
