use beads_core::op::{Renew, Unclaim};
use beads_core::{Bead, Op, Status};

use super::Service;
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::render::{Answer, LostClaim};
use crate::request::{Mutate, Request};

impl Service {
    /// Renews everything that the caller holds.
    pub(super) fn renew_held(
        &mut self,
        request: &Request,
        lease_ms: Option<u64>,
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let now_ms = self.replica.now_ms();
        let mine = |bead: &Bead| bead.claim.holder(now_ms) == Some(&request.actor) && !bead.is_offer();
        let ops = self.started(mine).map(|(id, _)| Op::Renew(Renew { id, lease_ms, ..Renew::default() }));
        let ops = ops.collect();
        self.mutate(request, &Mutate { ops, many: true, dry_run: false }, dialect)
    }

    /// Gives back everything whose lease ran out.
    pub(super) fn reclaim_expired(
        &mut self,
        request: &Request,
        dry_run: bool,
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let now_ms = self.replica.now_ms();
        let mut ops = Vec::new();
        for (id, bead) in self.started(|bead| bead.claim.assignee.is_some() && bead.claim.expired(now_ms)) {
            let holder = bead.claim.assignee.as_ref().map(ToString::to_string).unwrap_or_default();
            let end = bead.claim.expires.map(|end| end.to_string()).unwrap_or_default();
            let reason = format!("reclaimed: the lease of {holder} ran out at {end}").parse()?;
            ops.push(Op::Unclaim(Unclaim { id, reason, ..Unclaim::default() }));
        }
        self.mutate(request, &Mutate { ops, many: true, dry_run }, dialect)
    }

    fn started(&self, which: impl Fn(&Bead) -> bool) -> impl Iterator<Item = (String, &Bead)> {
        let catalog = self.replica.catalog();
        let started = move |bead: &Bead| bead.status() == Status::InProgress && which(bead);
        let found = catalog.live().filter(move |(_, bead)| started(bead));
        found.map(|(lineage, bead)| (catalog.id_of(lineage).to_string(), bead.as_ref()))
    }

    /// Claims that lost against a claim on another machine, until somebody dismisses the conflict.
    pub(super) fn lost_claims(&self) -> Vec<LostClaim> {
        let catalog = self.replica.catalog();
        let conflicts = catalog.state().conflicts().iter();
        let lost = conflicts.filter(|(_, conflict)| {
            conflict.dismissed.is_none() && conflict.field == beads_core::Field::Assignee
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
