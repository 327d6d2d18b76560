use serde::{Deserialize, Serialize};

use super::{Applied, Guard};
use crate::{Bead, Catalog, Claim, Context, Delta, Error, Lineage, Mark, Patch, Result, Stamp, Status};

/// Takes a bead for the caller (§4.2.3). A holder who claims again renews its lease and keeps its fence. The status
/// register is never written, so that a claim by a replica that does not know of a close cannot undo it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimBead {
    pub id: String,
    #[serde(flatten)]
    pub guard: Guard,
    /// How long the claim lasts; the store's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// End the claim of a session that is silent or gone first. Sessions are local knowledge, so the service decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub take_over: bool,
    /// The stamp that the claim ref names as its fence, minted before; no client can choose it.
    #[serde(skip)]
    pub at: Option<Stamp>,
}

impl ClaimBead {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let lineage = catalog.resolve_to_change(&self.id)?;
        let bead = catalog.bead(lineage).ok_or_else(|| Error::NotFound(self.id.clone()))?;
        self.guard.check(catalog, lineage, bead)?;
        check_free(catalog, lineage, bead, context)?;
        let mark = match self.at {
            Some(at) => reserved(catalog, lineage, bead, Mark::new(at, context.actor.clone()))?,
            None => context.mark(bead.stamps())?,
        };
        let (claim, renewed) = claimed(bead, &mark, self.lease_ms, context)?;
        let fence = claim.fence();
        let patch = Patch { claim: Some(claim), ..Patch::default() };
        Ok(Applied { renewed, fence, ..Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)) })
    }
}

/// The mark of a claim whose fence was minted before. One that has to beat a later claim by now would lose the next merge.
fn reserved(catalog: &Catalog, lineage: &Lineage, bead: &Bead, mark: Mark) -> Result<Mark> {
    if mark.at() > bead.claim.mark.at() && mark.at() > bead.claim.expires_mark.at() {
        return Ok(mark);
    }
    let current = bead.claim.mark.at().to_string();
    let holder = bead.claim.assignee.clone();
    Err(Error::StaleClaim { id: catalog.id_of(lineage).clone(), current, holder })
}

/// Refuses a bead that is finished or in somebody else's hands.
pub(super) fn check_free(
    catalog: &Catalog,
    lineage: &Lineage,
    bead: &Bead,
    context: &Context<'_>,
) -> Result<()> {
    let id = || catalog.id_of(lineage).clone();
    if bead.status.value.status == Status::Closed {
        return Err(Error::Closed(id()));
    }
    match bead.claim.holder(context.now_ms) {
        Some(holder) if *holder != context.actor => {
            Err(Error::AlreadyClaimed { id: id(), holder: holder.clone(), expires: bead.claim.expires })
        }
        _ => Ok(()),
    }
}

/// The claim after the caller took the bead, and whether it is the old one renewed.
pub(super) fn claimed(
    bead: &Bead,
    mark: &Mark,
    lease_ms: Option<u64>,
    context: &Context<'_>,
) -> Result<(Claim, bool)> {
    let expires = Some(context.lease_end(lease_ms)?);
    let renewed = bead.claim.is_taken()
        && !bead.is_offer()
        && bead.claim.holder(context.now_ms) == Some(&context.actor);
    let claim = if renewed {
        bead.claim.renewed(mark.clone(), expires)
    } else {
        Claim::new(mark.clone(), Some(context.actor.clone()), expires)
    };
    Ok((claim, renewed))
}

/// Any mutation by the holder of a running lease keeps the lease running, and never shortens it.
pub(super) fn renewal(bead: &Bead, mark: &Mark, context: &Context<'_>) -> Result<Option<Claim>> {
    let Some(old) = bead.claim.expires.filter(|_| bead.claim.holder(context.now_ms) == Some(&context.actor))
    else {
        return Ok(None);
    };
    let new = context.lease_end(None)?;
    Ok((bead.status() == Status::InProgress && !bead.is_offer() && new > old)
        .then(|| bead.claim.renewed(mark.clone(), Some(new))))
}
