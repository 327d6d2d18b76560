use serde::{Deserialize, Serialize};

use super::{Applied, Guard};
use crate::{Catalog, Context, Delta, Error, Patch, Result, Status};

/// Extends the lease of the caller's claim. The fence stays the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renew {
    /// Bead id, or a unique prefix of it.
    pub id: String,
    /// Preconditions.
    #[serde(flatten)]
    pub guard: Guard,
    /// Length of the lease from now, in milliseconds; the store's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

impl Renew {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let (lineage, bead) = self.guard.bead(catalog, &self.id)?;
        let id = || catalog.id_of(lineage).clone();
        if bead.status.value.status == Status::Closed {
            return Err(Error::Closed(id()));
        }
        // An expired lease can be renewed as long as no other actor has claimed the bead.
        match &bead.claim.assignee {
            Some(assignee) if *assignee == context.actor => {}
            Some(holder) => return Err(Error::NotHolder { id: id(), holder: holder.clone() }),
            None => return Err(Error::StaleClaim { id: id(), current: "none".into(), holder: None }),
        }
        let mark = context.mark(bead.stamps())?;
        let claim = bead.claim.renewed(mark, Some(context.lease_end(self.lease_ms)?));
        let fence = claim.fence();
        let patch = Patch { claim: Some(claim), ..Patch::default() };
        let renewed = Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch));
        Ok(Applied { renewed: true, fence, ..renewed })
    }
}
