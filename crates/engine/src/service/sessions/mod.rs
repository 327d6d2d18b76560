//! Sessions: one actor may run several agents at a time, and agents may die without notice. The claim in the
//! store decides who holds a bead. Which session of that actor made the claim, and whether it is still alive,
//! is only known locally.

mod admit;
mod table;

pub use table::{Held, Liveness, SILENT_MS, Sessions};

use std::sync::Arc;

use beads_core::op::{ClaimBead, Fence, Guard, Renew, Unclaim};
use beads_core::{Bead, Lineage, Op, Stamp, Status, Timestamp};

use super::Service;
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::render::{Answer, HeartbeatAnswer, HeldAnswer, SessionAnswer, SilentClaim};
use crate::request::{Call, Mutate, Request};
use crate::session_id::SessionId;
use crate::session_lock::SessionLock;

impl Service {
    /// Records that the session of a request is alive.
    pub fn mark_session_alive(&mut self, request: &Request) {
        let now_ms = self.replica.now_ms();
        if let Some(session) = &request.session
            && !matches!(request.call, Call::EndSession { .. })
        {
            Arc::make_mut(&mut self.sessions).mark_alive(session, now_ms);
        }
    }

    /// Saves the sessions, if a claim changed or they were not saved for a while.
    pub(super) fn save_sessions(&mut self) {
        if !self.sessions.is_unsaved() {
            return;
        }
        self.follow_fences();
        let now_ms = self.replica.now_ms();
        Arc::make_mut(&mut self.sessions).save(now_ms);
    }

    /// Forgets claims that have ended, and updates fences. A claim that was overwritten by a losing claim of
    /// another machine was restored under a new fence.
    pub(super) fn follow_fences(&mut self) {
        let (catalog, refs) = (self.replica.catalog(), &self.claim_refs);
        let current = |lineage: &Lineage, fence: Stamp| {
            let bead = catalog.live_bead(lineage).filter(|bead| bead.status() == Status::InProgress)?;
            bead.claim.fence().filter(|now| *now == refs.book.current_fence(fence))
        };
        Arc::make_mut(&mut self.sessions).keep(current);
    }

    /// Records the session of a claim that was just made or renewed, or that its fence was presented.
    pub(super) fn note_claim(&mut self, request: &Request, op: &Op, lineage: &Lineage, fence: Option<Stamp>) {
        let now_ms = self.replica.now_ms();
        let claims = match op {
            Op::Claim(_) | Op::ClaimNext(_) => true,
            Op::Update(update) => update.claim,
            _ => false,
        };
        if let Some(fence) = fence.filter(|_| claims) {
            Arc::make_mut(&mut self.sessions).claimed(lineage, fence, request.session.as_ref(), now_ms);
            return;
        }
        let presented = op.clone().guard_mut().and_then(|guard| guard.fence);
        if let Some(Fence(fence)) = presented {
            Arc::make_mut(&mut self.sessions).presented(lineage, fence, now_ms);
        }
    }

    /// Returns the beads in progress that the caller has claimed, including those with expired leases.
    fn claimed_by<'a>(&'a self, request: &'a Request) -> impl Iterator<Item = (&'a Lineage, &'a Bead)> {
        let mine = move |bead: &Bead| {
            bead.claim.is_taken() && bead.claim.assignee.as_ref() == Some(&request.actor) && !bead.is_offer()
        };
        let live = self.replica.catalog().live().filter(|(_, bead)| bead.status() == Status::InProgress);
        live.filter(move |(_, bead)| mine(bead)).map(|(lineage, bead)| (lineage, bead.as_ref()))
    }

    /// Returns whether a claim belongs to the session of a request. A claim with an unknown session does.
    fn is_of_session(&self, request: &Request, lineage: &Lineage, bead: &Bead) -> bool {
        let held = self.sessions.held(lineage, bead.claim.fence());
        held.is_none_or(|held| Some(&held.session) == request.session.as_ref())
    }

    /// Handles a heartbeat: renews the session's leases once a third of the lease has passed, and lists its
    /// claims.
    pub(super) fn heartbeat(&mut self, request: &Request) -> Result<Answer, Failure> {
        let (now_ms, lease_ms) = (self.replica.now_ms(), super::millis(self.config.duration("claim.lease")));
        let runs = |bead: &Bead| bead.claim.holder(now_ms).is_some();
        let mine: Vec<_> = self
            .claimed_by(request)
            .filter(|(lineage, bead)| runs(bead) && self.is_of_session(request, lineage, bead))
            .map(|(lineage, bead)| (lineage.clone(), bead.claim.expires.map_or(0, Timestamp::ms)))
            .collect();
        let mut renewed = 0;
        for (index, (lineage, expires_ms)) in mine.iter().enumerate() {
            if expires_ms.saturating_sub(now_ms) > lease_ms / 3 * 2 {
                continue;
            }
            let id = self.replica.catalog().id_of(lineage).to_string();
            let renew = Op::Renew(Renew { id, ..Renew::default() });
            let caller = beads_store::Caller { request: None, ..self.caller(request, index) };
            self.replica.apply(&renew, &caller)?;
            renewed += 1;
        }
        let held = mine.iter().filter_map(|(lineage, _)| self.held_answer(lineage)).collect();
        let (session, actor) = (request.session.clone(), request.actor.clone());
        Ok(Answer::Heartbeat(HeartbeatAnswer { session, actor, lease_ms, renewed, held }))
    }

    fn held_answer(&self, lineage: &Lineage) -> Option<HeldAnswer> {
        let bead = self.replica.catalog().bead(lineage)?;
        Some(HeldAnswer {
            id: self.replica.catalog().id_of(lineage).clone(),
            title: bead.title.value.clone(),
            holder: bead.claim.assignee.clone()?,
            fence: bead.claim.fence()?.to_string(),
            expires: bead.claim.expires.map(|time| time.to_string()),
        })
    }

    /// Claims again what the actor holds, except for claims of its other sessions. For an agent that was
    /// restarted.
    pub(super) fn claim_mine(
        &mut self,
        request: &Request,
        lease_ms: Option<u64>,
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let now_ms = self.replica.now_ms();
        let (mut ops, mut remarks) = (Vec::new(), Vec::new());
        for (lineage, bead) in self.claimed_by(request) {
            let id = self.replica.catalog().id_of(lineage).to_string();
            let held = self.sessions.held(lineage, bead.claim.fence());
            match held.filter(|held| Some(&held.session) != request.session.as_ref()) {
                None => ops.push(Op::Claim(ClaimBead { id, lease_ms, ..ClaimBead::default() })),
                Some(held) => {
                    let (session, liveness) = (&held.session, self.liveness_of(held, now_ms));
                    remarks.push(match liveness {
                        Liveness::Live(_) => format!("{id} is held by your session {session}, which is active"),
                        Liveness::Silent(since) => format!(
                            "{id} is held by your session {session}, silent since {}: bd claim {id} --take-over",
                            shown(since)
                        ),
                        Liveness::Ended(_) => {
                            format!("{id} was held by your session {session}, which is gone: bd claim {id} --take-over")
                        }
                    });
                }
            }
        }
        let answer = self.mutate(request, &Mutate { ops, many: true, dry_run: false }, dialect)?;
        self.remarks.extend(remarks);
        Ok(answer)
    }

    /// Returns the state of the session that made a claim, including whether its process is gone.
    pub(super) fn liveness_of(&self, held: &Held, now_ms: u64) -> Liveness {
        match self.sessions.liveness(held, now_ms) {
            Liveness::Live(last) | Liveness::Silent(last)
                if SessionLock::is_gone(&self.place.store_dir(), &held.session) =>
            {
                Liveness::Ended(last)
            }
            liveness => liveness,
        }
    }

    /// Ends a session. Its claims are released under their fences, or kept for the next session of the same
    /// actor.
    pub(super) fn end_session(
        &mut self,
        request: &Request,
        keep: bool,
        only: &[Fence],
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let Some(session) = request.session.clone() else {
            return Err(Failure::usage(
                "the session to end is not known; pass --session ID or set BD_SESSION",
            ));
        };
        self.follow_fences();
        let is_meant = |fence: Stamp| only.is_empty() || only.iter().any(|one| one.0 == fence);
        let claims: Vec<(Lineage, Stamp)> = self
            .sessions
            .claims()
            .filter(|(_, held)| held.session == session && is_meant(held.fence))
            .map(|(lineage, held)| (lineage.clone(), held.fence))
            .collect();
        let mut released = Vec::new();
        if keep {
            let now_ms = self.replica.now_ms();
            Arc::make_mut(&mut self.sessions).end(&session, now_ms);
            return Ok(Answer::Many(released));
        }
        for (lineage, fence) in claims {
            let catalog = self.replica.catalog();
            let Some(holder) = catalog.bead(&lineage).and_then(|bead| bead.claim.assignee.clone()) else {
                continue;
            };
            let id = catalog.id_of(&lineage).to_string();
            let guard = Guard { fence: Some(Fence(fence)), ..Guard::default() };
            let reason = format!("given back: the session of {holder} ended").parse()?;
            let unclaim = Op::Unclaim(Unclaim { id, guard, reason, ..Unclaim::default() });
            // Released in the name of its holder: subagents share a session, so it may have several holders.
            let as_holder = Request { actor: holder, request_id: None, ..request.clone() };
            let mutate = Mutate { ops: vec![unclaim], many: true, dry_run: false };
            if let Answer::Many(done) = self.mutate(&as_holder, &mutate, dialect)? {
                released.extend(done);
            }
        }
        if only.is_empty() {
            Arc::make_mut(&mut self.sessions).forget(&session);
            SessionLock::forget(&self.place.store_dir(), &session);
        }
        Ok(Answer::Many(released))
    }

    /// Lists the sessions that hold claims.
    pub(super) fn list_sessions(&mut self) -> Answer {
        self.follow_fences();
        let now_ms = self.replica.now_ms();
        let mut answers: Vec<SessionAnswer> = Vec::new();
        for (lineage, held) in self.sessions.claims() {
            let Some(claim) = self.held_answer(lineage) else { continue };
            let (state, seen_ms) = match self.liveness_of(held, now_ms) {
                Liveness::Live(at) => ("live", at),
                Liveness::Silent(at) => ("silent", at),
                Liveness::Ended(at) => ("ended", at),
            };
            match answers.iter_mut().find(|answer| answer.session == held.session) {
                Some(answer) => answer.claims.push(claim),
                None => answers.push(SessionAnswer {
                    session: held.session.clone(),
                    state,
                    last_seen: shown(seen_ms),
                    claims: vec![claim],
                }),
            }
        }
        Answer::Sessions(answers)
    }

    /// Returns the claims whose sessions are silent, for `bd status`.
    pub(super) fn silent_claims(&self) -> Vec<SilentClaim> {
        let (catalog, now_ms) = (self.replica.catalog(), self.replica.now_ms());
        let silent = |(lineage, held): (&Lineage, &Held)| {
            let bead = catalog.live_bead(lineage).filter(|bead| bead.status() == Status::InProgress)?;
            let since = self.sessions.silent_since(lineage, bead.claim.fence(), now_ms)?;
            let (id, holder) = (catalog.id_of(lineage).clone(), bead.claim.assignee.clone()?);
            Some(SilentClaim { id, holder, session: held.session.clone(), since: shown(since) })
        };
        self.sessions.claims().filter_map(silent).collect()
    }
}

/// Formats a time.
fn shown(ms: u64) -> String {
    Timestamp::text_of(ms)
}

/// Describes a session in messages.
fn session_name(session: Option<&SessionId>) -> String {
    session.map_or_else(|| "without a session".to_owned(), |session| format!("in session {session}"))
}
