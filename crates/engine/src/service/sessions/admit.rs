//! What comes before a claim: whether another session of the same actor holds the bead, and taking over from a session that
//! is silent or gone.

use std::time::{Duration, Instant};

use beads_core::op::{ClaimBead, ClaimNext, Fence, Guard, Unclaim};
use beads_core::{Lineage, Op, Stamp, Status, Timestamp};
use serde_json::json;

use super::table::Held;
use super::{Life, SILENT_MS, session_name, shown};
use crate::failure::{Code, Failure};
use crate::request::{Call, Request};
use crate::service::Service;

/// A claim that stands, as far as sessions are concerned.
struct Standing {
    lineage: Lineage,
    id: String,
    holder: String,
    fence: Stamp,
    expires: Option<Timestamp>,
    held: Option<Held>,
    is_mine: bool,
}

impl Service {
    /// Refuses a claim that another session has, and ends one that is to be taken over.
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

    fn claim_on(&self, request: &Request, id: &str) -> Option<Standing> {
        let catalog = self.replica.catalog();
        // Whatever is wrong with the id is reported by the operation itself.
        let lineage = catalog.resolve_to_change(id).ok()?;
        let bead = catalog.bead(lineage).filter(|bead| bead.status() == Status::InProgress)?;
        let holder = bead.claim.holder(self.replica.now_ms()).filter(|_| bead.claim.is_taken())?;
        let fence = bead.claim.fence().filter(|_| !bead.is_offer())?;
        Some(Standing {
            lineage: lineage.clone(),
            id: catalog.id_of(lineage).to_string(),
            holder: holder.to_string(),
            fence,
            expires: bead.claim.expires,
            held: self.sessions.held(lineage, Some(fence)).cloned(),
            is_mine: *holder == request.actor,
        })
    }

    fn admit_claim(&mut self, request: &Request, claim: &ClaimBead) -> Result<(), Failure> {
        // A caller that presents the fence is the holder.
        let Some(standing) = self.claim_on(request, &claim.id).filter(|_| claim.guard.fence.is_none()) else {
            return Ok(());
        };
        let Some(held) = &standing.held else {
            return match claim.take_over && !standing.is_mine {
                true => Err(standing.refused(None)),
                false => Ok(()),
            };
        };
        if standing.is_mine && Some(&held.session) == request.session.as_ref() {
            return Ok(());
        }
        let life = self.life_of(held, self.replica.now_ms());
        match life {
            Life::Silent(since) if claim.take_over => self.take_over(request, &standing, since),
            Life::Ended(since) if claim.take_over || standing.is_mine => {
                self.take_over(request, &standing, since)
            }
            // The claim of another actor that is at work is refused by the operation itself.
            Life::Live(_) if !standing.is_mine && !claim.take_over => Ok(()),
            life => Err(standing.refused(Some(life))),
        }
    }

    /// Ends the claim of a session that is silent or gone, under its fence, and says so in a note.
    fn take_over(&mut self, request: &Request, standing: &Standing, since_ms: u64) -> Result<(), Failure> {
        let op = standing.end(since_ms)?;
        let caller = beads_store::Caller { request: None, ..self.caller(request, 0) };
        self.replica.apply(&op, &caller)?;
        Ok(())
    }

    /// For `claim --next --steal-silent`: when nothing is ready, ends the claim of the best bead whose session was silent
    /// for long enough, so that it is.
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
        for (standing, since) in &silent {
            let rehearsed = self.replica.rehearse(&standing.end(*since)?, &caller)?;
            after.take(&rehearsed.delta)?;
        }
        let best = next.candidates(&after, &request.actor, now_ms, 1)?.pop();
        match silent.iter().find(|(standing, _)| Some(&standing.lineage) == best.as_ref()) {
            Some((standing, since)) => self.take_over(request, standing, *since),
            None => Ok(()),
        }
    }

    /// Claims whose sessions were silent for so long, with since when.
    fn silent_for(&self, request: &Request, least_ms: u64) -> Vec<(Standing, u64)> {
        let now_ms = self.replica.now_ms();
        let claims = self.sessions.claims().filter_map(|(lineage, _)| {
            let standing = self.claim_on(request, self.replica.catalog().id_of(lineage).as_str())?;
            let held = standing.held.clone()?;
            match self.life_of(&held, now_ms) {
                Life::Ended(since) => Some((standing, since)),
                Life::Silent(since) if now_ms - since >= least_ms => Some((standing, since)),
                _ => None,
            }
        });
        claims.collect()
    }

    /// The same for a request that waits, and is only tried when something is ready.
    pub fn steal_for(&mut self, request: &Request) {
        if let Some(next) = next_of(&request.call).cloned() {
            // What goes wrong here goes wrong again when the claim is tried.
            let _ = self.steal_silent(request, &next);
        }
    }

    /// When a claim may have been silent long enough for a request that waits.
    pub fn next_steal(&self, request: &Request) -> Option<Instant> {
        let least_ms = next_of(&request.call)?.steal_silent_ms?.max(SILENT_MS);
        let now_ms = self.replica.now_ms();
        let due = self.sessions.claims().filter_map(|(_, held)| match self.sessions.life(held, now_ms) {
            Life::Live(last) | Life::Silent(last) => Some((last + least_ms).saturating_sub(now_ms)),
            Life::Ended(_) => None,
        });
        Instant::now().checked_add(Duration::from_millis(due.filter(|ms| *ms > 0).min()?))
    }
}

/// The claim of whatever is best in a call.
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

impl Standing {
    /// The operation that ends the claim.
    fn end(&self, since_ms: u64) -> Result<Op, Failure> {
        let session = session_name(self.held.as_ref().map(|held| &held.session));
        let reason = format!("taken over from {} {session}: silent since {}", self.holder, shown(since_ms));
        let guard = Guard { fence: Some(Fence(self.fence)), ..Guard::default() };
        let (id, reason) = (self.id.clone(), reason.parse()?);
        Ok(Op::Unclaim(Unclaim { id, guard, force: true, reason }))
    }

    /// Why the bead cannot be had, and what to do.
    fn refused(&self, life: Option<Life>) -> Failure {
        let Self { id, holder, .. } = self;
        let session = self.held.as_ref().map(|held| &held.session);
        let until = self.expires.map(|time| format!(" until {time}")).unwrap_or_default();
        let (what, silent_since) = match life {
            None => (
                "by an agent whose session is not known on this machine; bd unclaim ID --force --reason TEXT takes it away"
                    .replace("ID", id),
                None,
            ),
            Some(Life::Live(last)) => {
                let whose = session_name(session);
                let since = shown(last);
                let hint = "take another bead, or take it over with --take-over when that session is silent for a minute";
                (format!("{whose}, which was heard from at {since}: {hint}"), None)
            }
            Some(Life::Silent(since) | Life::Ended(since)) => {
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
