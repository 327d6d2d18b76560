//! Claims that the hub decides.

use beads_core::op::{ClaimBead, Unclaim};
use beads_core::{Actor, Lineage, Op, Timestamp};
use beads_store::hub::{ClaimRequest, Grant, HubCursor, MAX_CANDIDATES, draw_uuid};
use serde_json::json;

use super::files::random;
use super::hub_unreachable;
use crate::failure::{Code, Failure};
use crate::service::Service;
use crate::service::exclusive::{ClaimJob, NextStep, Picked};

/// Why a claim that the hub did not decide in time fails.
pub const UNDECIDED: &str = "it did not answer within the setting claim.timeout";

/// Returns why a claim fails while the hub holds grants, at most for a time.
pub fn holds_grants(left_ms: u64) -> String {
    let seconds = left_ms.div_ceil(1_000);
    format!(
        "it grants nothing until all machines seen lately have attached again, for at most {seconds} s more (bd hub \
         status says how many are missing)"
    )
}

impl Service {
    /// Returns what to ask the hub for: up to 256 beads in the order of the queue. `None` if the hub does not
    /// have them yet, so that they have to be appended first.
    pub fn hub_claim_request(&mut self, job: &ClaimJob) -> Result<Option<ClaimRequest>, Failure> {
        // The end of a lease is a time of the hub, or of a machine that did not know that time. Only what is held by
        // both clocks is left out; the hub decides about the rest.
        let (wall_ms, hub_ms) = (self.replica.now_ms(), self.replica.lease_now_ms());
        let now_ms = hub_ms.max(wall_ms);
        let lineages: Vec<Lineage> = match job.op() {
            Op::ClaimNext(next) => {
                let catalog = self.replica.catalog();
                let found = next.candidates(catalog, &job.request.actor, now_ms, MAX_CANDIDATES)?;
                found.into_iter().filter(|lineage| !job.has_tried(lineage)).collect()
            }
            op => {
                // The same checks as for the claim itself, so that the hub is not asked for nothing.
                let caller = self.caller(&job.request, 0);
                let checked_ms = wall_ms + (now_ms - hub_ms);
                self.replica.dry_run_at(op, &caller, checked_ms)?.bead.into_iter().collect()
            }
        };
        if lineages.is_empty() {
            return Err(beads_core::Error::NothingReady.into());
        }
        let catalog = self.replica.catalog();
        let latest = |lineage: &Lineage| {
            let claim = &catalog.bead(lineage)?.claim;
            Some(claim.mark.at().max(claim.expires_mark.at()))
        };
        let known = |lineage: &Lineage| self.hub.as_ref().is_some_and(|hub| hub.session.knows(lineage));
        let candidates = lineages.into_iter().filter(known).filter_map(|lineage| {
            let at = latest(&lineage)?;
            Some((lineage, at))
        });
        let candidates: Vec<_> = candidates.collect();
        if candidates.is_empty() {
            return Ok(None);
        }
        let (id, lease_ms) = (draw_uuid(random()), self.lease_of(job));
        Ok(Some(ClaimRequest { id, holder: job.request.actor.clone(), lease_ms, candidates }))
    }

    /// Records a claim that the hub granted, and answers the request.
    pub fn record_grant(&mut self, job: Box<ClaimJob>, grant: &Grant, cursor: &HubCursor) -> NextStep {
        if let Err(failure) = self.hub_granted(grant, cursor) {
            return self.answered(job, Err(failure));
        }
        let id = self.replica.catalog().id_of(&grant.lineage).to_string();
        let (at, until) = (Some(grant.fence), Some(grant.until));
        let op = match job.op() {
            Op::Claim(claim) => Op::Claim(ClaimBead { at, until, ..claim.clone() }),
            _ => Op::Claim(ClaimBead { id: id.clone(), at, until, ..ClaimBead::default() }),
        };
        let actor = job.request.actor.clone();
        let step = self.record_op(job, &grant.lineage, &op, None);
        let bead = self.replica.catalog().bead(&grant.lineage);
        if bead.is_some_and(|bead| bead.claim.fence() != Some(grant.fence)) {
            // The bead changed here in the meantime. Give it back, so that others need not wait for the lease.
            self.give_back(grant, id, actor);
        }
        step
    }

    fn give_back(&mut self, grant: &Grant, id: String, actor: Actor) {
        let unclaim = Op::Unclaim(Unclaim { id, ..Unclaim::default() });
        let caller = beads_store::Caller { actor, branch: Default::default(), lease_ms: 0, request: None };
        let taken = self.replica.take_foreign(grant.delta(), Vec::new());
        if let Err(error) = taken.and_then(|_| self.replica.apply(&unclaim, &caller).map(drop)) {
            crate::log::note(&format!("a grant could not be given back: {error}"));
        }
    }

    /// Handles an answer without a grant: tries the beads that were not tried, or fails with the holder.
    pub fn hub_taken(
        &mut self,
        mut job: Box<ClaimJob>,
        request: &ClaimRequest,
        (holder, until): (Option<Actor>, Option<Timestamp>),
    ) -> NextStep {
        if job.is_for_next() {
            job.note_tried(request.candidates.iter().map(|(lineage, _)| lineage.clone()));
            return NextStep::Retry(job);
        }
        let lineage = request.candidates.first().map(|(lineage, _)| lineage);
        let id = lineage.map(|lineage| self.replica.catalog().id_of(lineage).clone());
        let shown = holder.as_ref().map_or_else(|| "another actor".to_owned(), ToString::to_string);
        let name = id.as_ref().map(ToString::to_string).unwrap_or_default();
        let message = format!("{name} was claimed by {shown} on another machine first");
        let details = json!({"id": id, "holder": holder, "expires": until.map(|time| time.to_string())});
        self.answered(job, Err(Failure::new(Code::AlreadyClaimed, message).with(details)))
    }

    /// Returns the failure of a claim that the hub has not decided yet. If it grants the claim after all, the
    /// claim is released.
    pub fn hub_undecided(&self, reason: &str) -> Failure {
        hub_unreachable(reason, self.hub_away_ms())
    }

    /// Handles a hub that did not decide in time. If claims without it are allowed, the claim refs decide where
    /// they are used; otherwise the claim is made on this machine.
    pub fn without_hub(&mut self, mut job: Box<ClaimJob>, reason: &str) -> NextStep {
        if !self.offline_claims_allowed() {
            let failure = hub_unreachable(reason, self.hub_away_ms());
            return self.answered(job, Err(failure));
        }
        job.leave_hub();
        if self.uses_claim_refs(job.request.offline) {
            return NextStep::Retry(job);
        }
        match self.pick(&mut job) {
            Ok(Picked::Chosen) => self.claim_offline(job, reason),
            Ok(Picked::Later) => NextStep::Retry(job),
            Err(failure) => self.answered(job, Err(failure)),
        }
    }
}
