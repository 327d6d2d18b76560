use beads_core::op::{Renew, Unclaim};
use beads_core::{Actor, Bead, Op, Status, Text};

use super::Service;
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::render::{Answer, LostClaim};
use crate::request::{Mutate, Request};

impl Service {
    /// Renews the leases of all beads that the caller holds.
    pub(super) fn renew_held(
        &mut self,
        request: &Request,
        lease_ms: Option<u64>,
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let now_ms = self.replica.lease_now_ms();
        let mine = |bead: &Bead| bead.claim.holder(now_ms) == Some(&request.actor) && !bead.is_offer();
        let ops = self.in_progress(mine).map(|(id, _)| Op::Renew(Renew { id, lease_ms, ..Renew::default() }));
        let ops = ops.collect();
        self.mutate(request, &Mutate { ops, many: true, dry_run: false }, dialect)
    }

    /// Releases all claims of an actor. Claims of another actor are released only with `force`.
    pub(super) fn unclaim_all(
        &mut self,
        request: &Request,
        assignee: Option<&Actor>,
        force: bool,
        reason: &Text,
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let holder = assignee.unwrap_or(&request.actor);
        let held = |bead: &Bead| bead.claim.assignee.as_ref() == Some(holder) && !bead.is_offer();
        let unclaim =
            |(id, _)| Op::Unclaim(Unclaim { id, force, reason: reason.clone(), ..Unclaim::default() });
        let ops = self.in_progress(held).map(unclaim).collect();
        self.mutate(request, &Mutate { ops, many: true, dry_run: false }, dialect)
    }

    /// Releases all claims whose leases have expired, or those of one actor.
    pub(super) fn reclaim_expired(
        &mut self,
        request: &Request,
        assignee: Option<&Actor>,
        dry_run: bool,
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let now_ms = self.replica.lease_now_ms();
        let mut ops = Vec::new();
        let is_expired = |bead: &Bead| {
            let holder = bead.claim.assignee.as_ref();
            holder.is_some_and(|holder| assignee.is_none_or(|wanted| wanted == holder))
                && bead.claim.expired(now_ms)
        };
        for (id, bead) in self.in_progress(is_expired) {
            let holder = bead.claim.assignee.as_ref().map(ToString::to_string).unwrap_or_default();
            let end = bead.claim.expires.map(|end| end.to_string()).unwrap_or_default();
            let reason = format!("reclaimed: the lease of {holder} ran out at {end}").parse()?;
            ops.push(Op::Unclaim(Unclaim { id, reason, ..Unclaim::default() }));
        }
        self.mutate(request, &Mutate { ops, many: true, dry_run }, dialect)
    }

    /// Returns the beads in progress that match a predicate.
    fn in_progress(&self, which: impl Fn(&Bead) -> bool) -> impl Iterator<Item = (String, &Bead)> {
        let catalog = self.replica.catalog();
        let claimed = catalog.live().filter(|(_, bead)| bead.status() == Status::InProgress);
        let found = claimed.filter(move |(_, bead)| which(bead));
        found.map(|(lineage, bead)| (catalog.id_of(lineage).to_string(), bead.as_ref()))
    }

    /// Returns the claims that lost against another machine and whose conflicts are not dismissed. A holder that
    /// has the bead again lost nothing.
    pub(super) fn lost_claims(&self) -> Vec<LostClaim> {
        let (catalog, now_ms) = (self.replica.catalog(), self.replica.lease_now_ms());
        let conflicts = catalog.state().conflicts().iter();
        let lost = conflicts.filter(|(_, conflict)| {
            let bead = catalog.bead(&conflict.bead);
            let holder = bead.and_then(|bead| bead.claim.holder(now_ms)).map(Actor::as_str);
            conflict.dismissed.is_none()
                && conflict.field == beads_core::Field::Assignee
                && (holder.is_none() || holder != conflict.value.as_str())
        });
        lost.filter_map(|(id, conflict)| {
            Some(LostClaim {
                id: catalog.id_of(&conflict.bead).clone(),
                holder: conflict.value.as_str()?.to_owned(),
                won_by: conflict.won.by().clone(),
                conflict: id.to_string(),
            })
        })
        .collect()
    }
}
