use serde::{Deserialize, Serialize};

use super::{Applied, Guard, Warning};
use crate::{Catalog, Context, Delta, Error, Patch, Register, Result, Status, StatusGroup, Text, Word};

/// The status word of a bead that was closed because it will not be done.
pub const CANCELLED: &str = "cancelled";

/// Closes a bead that will not be done. Until it is reopened, a worker that tries to close it is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cancel {
    /// Bead id, or a unique prefix of it
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::BeadRef"))]
    pub id: String,
    /// Preconditions
    #[serde(flatten)]
    pub guard: Guard,
    /// Why the bead will not be done
    pub reason: Text,
}

impl Cancel {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let lineage = catalog.resolve(&self.id)?;
        let bead = catalog.bead(lineage).ok_or_else(|| Error::NotFound(self.id.clone()))?;
        self.guard.check(catalog, lineage, bead)?;
        if self.reason.as_str().trim().is_empty() {
            return Err(Error::invalid("reason", "it is missing; say why the bead will not be done"));
        }
        if bead.is_cancelled() {
            return Ok(Applied::bead(lineage, Delta::default()));
        }
        if bead.status() == Status::Closed {
            return Err(Error::Closed(catalog.id_of(lineage).clone()));
        }
        let holder = bead.claim.held_by_other(&context.actor, context.lease_now_ms());
        let warnings = holder.cloned().map(Warning::ClaimOf).into_iter().collect();
        let mark = context.mark(bead.stamps())?;
        let group = StatusGroup {
            status: Status::Closed,
            word: Some(CANCELLED.parse::<Word>()?),
            closed_reason: self.reason.clone(),
            closed_on_branch: context.branch.clone(),
        };
        let patch = Patch { status: Some(Register::new(mark, group)), ..Patch::default() };
        let unblocked = catalog.waiting_only_for(lineage);
        Ok(Applied { unblocked, warnings, ..Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)) })
    }
}
