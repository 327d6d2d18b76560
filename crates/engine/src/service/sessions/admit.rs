//! Checks before a claim: whether another session of the same actor holds the bead, and whether the claim may
//! be taken over from a session that is silent or gone.

use std::time::{Duration, Instant};

use beads_core::op::{ClaimBead, ClaimNext, Fence, Guard, Unclaim};
use beads_core::{Lineage, Op, Stamp, Status, Timestamp};
use serde_json::json;

use super::table::Held;
use super::{Liveness, SILENT_MS, session_name, shown};
use crate::failure::{Code, Failure};
use crate::request::{Call, Request};
use crate::service::Service;

/// The current claim on a bead, with its session if known.
struct CurrentClaim {
    lineage: Lineage,
    id: String,
    holder: String,
    fence: Stamp,
    expires: Option<Timestamp>,
    held: Option<Held>,
    is_mine: bool,
}

impl Service {
    /// Rejects a claim on a bead that another session holds, or ends that session's claim if it may be taken
    /// over.
    pub(in crate::service) fn admit(&mut self, request: &Request, op: &Op) -> Result<(), Failure> {
        match op {
            Op::Claim(claim) => self.admit_claim(request, claim),
            Op::Update(update) if update.claim => {
                let (id, guard) = (update.id.clone(), update.guard.clone());
                self.admit_claim(request, &ClaimBead { id, guard, ..ClaimBead::default() })
            }
            Op::ClaimNext(next) => self.steal_silent(request, next),
            _ => Ok(()),
        }
    }

    /// Returns the current claim on a bead.
    fn current_claim(&self, request: &Request, id: &str) -> Option<CurrentClaim> {
        let catalog = self.replica.catalog();
        // The operation itself reports an invalid id.
        let lineage = catalog.resolve_to_change(id).ok()?;
        let bead = catalog.bead(lineage).filter(|bead| bead.status() == Status::InProgress)?;
        let holder = bead.claim.holder(self.replica.lease_now_ms()).filter(|_| bead.claim.is_taken())?;
        let fence = bead.claim.fence().filter(|_| !bead.is_offer())?;
        Some(CurrentClaim {
            lineage: lineage.clone(),
            id: catalog.id_of(lineage).to_string(),
            holder: holder.to_string(),
            fence,
            expires: bead.claim.expires,
            held: self.sessions.held(lineage, Some(fence)).cloned(),
            is_mine: *holder == request.actor,
        })
    }

    /// Decides about the claim of one bead.
    fn admit_claim(&mut self, request: &Request, claim: &ClaimBead) -> Result<(), Failure> {
        // A caller that presents the fence is the holder.
        let Some(current) = self.current_claim(request, &claim.id).filter(|_| claim.guard.fence.is_none())
        else {
            return Ok(());
        };
        let Some(held) = &current.held else {
            return match claim.take_over && !current.is_mine {
                true => Err(current.refused(None)),
                false => Ok(()),
            };
        };
        if current.is_mine && Some(&held.session) == request.session.as_ref() {
            return Ok(());
        }
        let liveness = self.liveness_of(held, self.replica.now_ms());
        match liveness {
            Liveness::Silent(since) if claim.take_over => self.take_over(request, &current, since),
            Liveness::Ended(since) if claim.take_over || current.is_mine => {
                self.take_over(request, &current, since)
            }
            // The operation itself refuses a bead that another active actor holds.
            Liveness::Live(_) if !current.is_mine && !claim.take_over => Ok(()),
            liveness => Err(current.refused(Some(liveness))),
        }
    }

    /// Ends the claim of a session that is silent or gone, under its fence, and records the reason.
    fn take_over(&mut self, request: &Request, current: &CurrentClaim, since_ms: u64) -> Result<(), Failure> {
        let op = current.end(since_ms)?;
        let caller = beads_store::Caller { request: None, ..self.caller(request, 0) };
        self.replica.apply(&op, &caller)?;
        Ok(())
    }

    /// For `claim --next --steal-silent`: if nothing is ready, ends the claim on the best bead whose session
    /// has been silent for long enough, so that the bead becomes ready.
    fn steal_silent(&mut self, request: &Request, next: &ClaimNext) -> Result<(), Failure> {
        let Some(least_ms) = next.steal_silent_ms else { return Ok(()) };
        let now_ms = self.replica.now_ms();
        let catalog = self.replica.catalog();
        if !next.candidates(catalog, &request.actor, now_ms, 1)?.is_empty() {
            return Ok(());
        }
        let silent = self.silent_for(request, least_ms.max(SILENT_MS));
        let mut after = catalog.clone();
        let caller = beads_store::Caller { request: None, ..self.caller(request, 0) };
        for (current, since) in &silent {
            let rehearsed = self.replica.dry_run(&current.end(*since)?, &caller)?;
            after.join_delta(&rehearsed.delta)?;
        }
        let best = next.candidates(&after, &request.actor, now_ms, 1)?.pop();
        match silent.iter().find(|(current, _)| Some(&current.lineage) == best.as_ref()) {
            Some((current, since)) => self.take_over(request, current, *since),
            None => Ok(()),
        }
    }

    /// Returns the claims whose sessions have been silent for at least this long, with the start of the
    /// silence.
    fn silent_for(&self, request: &Request, least_ms: u64) -> Vec<(CurrentClaim, u64)> {
        let now_ms = self.replica.now_ms();
        let claims = self.sessions.claims().filter_map(|(lineage, _)| {
            let current = self.current_claim(request, self.replica.catalog().id_of(lineage).as_str())?;
            let held = current.held.clone()?;
            match self.liveness_of(&held, now_ms) {
                Liveness::Ended(since) => Some((current, since)),
                Liveness::Silent(since) if now_ms - since >= least_ms => Some((current, since)),
                _ => None,
            }
        });
        claims.collect()
    }

    /// Ends a silent claim for a waiting `claim --next --steal-silent`, which is only retried when something
    /// is ready.
    pub fn steal_for(&mut self, request: &Request) {
        if let Some(next) = next_of(&request.call).cloned() {
            // An error will occur again when the claim is tried.
            let _ = self.steal_silent(request, &next);
        }
    }

    /// Returns when the next session will have been silent for long enough for a waiting request.
    pub fn next_steal(&self, request: &Request) -> Option<Instant> {
        let least_ms = next_of(&request.call)?.steal_silent_ms?.max(SILENT_MS);
        let now_ms = self.replica.now_ms();
        let due = self.sessions.claims().filter_map(|(_, held)| match self.sessions.liveness(held, now_ms) {
            Liveness::Live(last) | Liveness::Silent(last) => Some((last + least_ms).saturating_sub(now_ms)),
            Liveness::Ended(_) => None,
        });
        Instant::now().checked_add(Duration::from_millis(due.filter(|ms| *ms > 0).min()?))
    }
}

/// Returns the `ClaimNext` operation of a call.
fn next_of(call: &Call) -> Option<&ClaimNext> {
    match call {
        Call::Wait { call, .. } | Call::Confirm { call } => next_of(call),
        Call::Mutate(mutate) => mutate.ops.iter().find_map(|op| match op {
            Op::ClaimNext(next) => Some(next.as_ref()),
            _ => None,
        }),
        _ => None,
    }
}

impl CurrentClaim {
    /// Returns the operation that ends the claim.
    fn end(&self, since_ms: u64) -> Result<Op, Failure> {
        let session = session_name(self.held.as_ref().map(|held| &held.session));
        let reason = format!("taken over from {} {session}: silent since {}", self.holder, shown(since_ms));
        let guard = Guard { fence: Some(Fence(self.fence)), ..Guard::default() };
        let (id, reason) = (self.id.clone(), reason.parse()?);
        Ok(Op::Unclaim(Unclaim { id, guard, force: true, reason }))
    }

    /// Returns the error: why the bead cannot be claimed, and what to do.
    fn refused(&self, liveness: Option<Liveness>) -> Failure {
        let Self { id, holder, .. } = self;
        let session = self.held.as_ref().map(|held| &held.session);
        let until = self.expires.map(|time| format!(" until {time}")).unwrap_or_default();
        let (what, silent_since) = match liveness {
            None => (
                "by an agent whose session is not known on this machine; bd unclaim ID --force --reason TEXT takes it away"
                    .replace("ID", id),
                None,
            ),
            Some(Liveness::Live(last)) => {
                let whose = session_name(session);
                let since = shown(last);
                let hint = "take another bead, or take it over with --take-over when that session is silent for a minute";
                (format!("{whose}, which was heard from at {since}: {hint}"), None)
            }
            Some(Liveness::Silent(since) | Liveness::Ended(since)) => {
                let (whose, since) = (session_name(session), shown(since));
                (format!("{whose}, silent since {since}: bd claim {id} --take-over takes it over"), Some(since))
            }
        };
        let message = format!("{id} is held by {holder}{until} {what}; nothing was changed");
        Failure::new(Code::AlreadyClaimed, message).with(json!({
            "id": id, "holder": holder, "expires": self.expires.map(|time| time.to_string()),
            "session": session, "silent_since": silent_since,
        }))
    }
}
