use serde::{Deserialize, Serialize};

use super::{Applied, Guard};
use crate::{
    Bead, Catalog, Claim, Context, Delta, Error, Lineage, Mark, Patch, Result, Stamp, Status, Timestamp,
};

/// Claims a bead for the caller (§4.2.3). If the caller already holds the claim, its lease is renewed and its
/// fence kept. The status register is never written: a replica that has not seen a close must not undo it by
/// a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimBead {
    /// Bead id, or a unique prefix of it.
    pub id: String,
    /// Preconditions.
    #[serde(flatten)]
    pub guard: Guard,
    /// Length of the lease in milliseconds; the store's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// First end the claim of a session that is silent or gone. The service handles this, because sessions
    /// are not part of the replicated state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub take_over: bool,
    /// The stamp already published in the claim ref as its fence. Clients cannot set it.
    #[serde(skip)]
    pub at: Option<Stamp>,
    /// The end of the lease that a hub granted together with `at`. Clients cannot set it.
    #[serde(skip)]
    pub until: Option<Timestamp>,
}

impl ClaimBead {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let (lineage, bead) = self.guard.bead(catalog, &self.id)?;
        // The hub decides by its own clock whether the bead is free. A grant may be known already, if its answer
        // was lost and it arrived with the deltas of the others.
        let is_granted = self.until.is_some();
        if !is_granted || bead.status.value.status == Status::Closed {
            check_free(catalog, lineage, bead, context)?;
        }
        let mark = match self.at {
            Some(at) if is_granted && bead.claim.is_under(at, &context.actor) => bead.claim.mark.clone(),
            Some(at) => reserved_mark(catalog, lineage, bead, Mark::new(at, context.actor.clone()))?,
            None => context.mark(bead.stamps())?,
        };
        let (claim, renewed) = match self.until {
            // Exactly what every other replica builds from the grant.
            Some(until) => (Claim::new(mark, Some(context.actor.clone()), Some(until)), false),
            None => new_claim(bead, &mark, self.lease_ms, context)?,
        };
        let fence = claim.fence();
        let patch = Patch { claim: Some(claim), ..Patch::default() };
        Ok(Applied { renewed, fence, ..Applied::bead(lineage, Delta::of_bead(lineage.clone(), patch)) })
    }
}

/// Checks the mark of a claim whose fence was minted earlier. If the bead has a newer claim by now, this one
/// would lose the next merge, so it is refused.
fn reserved_mark(catalog: &Catalog, lineage: &Lineage, bead: &Bead, mark: Mark) -> Result<Mark> {
    if mark.at() > bead.claim.mark.at() && mark.at() > bead.claim.expires_mark.at() {
        return Ok(mark);
    }
    let current = bead.claim.mark.at().to_string();
    let holder = bead.claim.assignee.clone();
    Err(Error::StaleClaim { id: catalog.id_of(lineage).clone(), current, holder })
}

/// Refuses a bead that is closed or held by another actor.
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
    match bead.claim.holder(context.lease_now_ms()) {
        Some(holder) if *holder != context.actor => {
            Err(Error::AlreadyClaimed { id: id(), holder: holder.clone(), expires: bead.claim.expires })
        }
        _ => Ok(()),
    }
}

/// Returns the caller's claim on the bead, and whether it renews an existing claim.
pub(super) fn new_claim(
    bead: &Bead,
    mark: &Mark,
    lease_ms: Option<u64>,
    context: &Context<'_>,
) -> Result<(Claim, bool)> {
    let expires = Some(context.lease_end(lease_ms)?);
    let renewed = bead.claim.is_taken()
        && !bead.is_offer()
        && bead.claim.holder(context.lease_now_ms()) == Some(&context.actor);
    let claim = if renewed {
        bead.claim.renewed(mark.clone(), expires)
    } else {
        Claim::new(mark.clone(), Some(context.actor.clone()), expires)
    };
    Ok((claim, renewed))
}

/// Returns the renewed claim if the caller holds a running lease. Any mutation by the holder extends the
/// lease; none shortens it.
pub(super) fn renewal(bead: &Bead, mark: &Mark, context: &Context<'_>) -> Result<Option<Claim>> {
    let Some(old) =
        bead.claim.expires.filter(|_| bead.claim.holder(context.lease_now_ms()) == Some(&context.actor))
    else {
        return Ok(None);
    };
    let new = context.lease_end(None)?;
    Ok((bead.status() == Status::InProgress && !bead.is_offer() && new > old)
        .then(|| bead.claim.renewed(mark.clone(), Some(new))))
}
