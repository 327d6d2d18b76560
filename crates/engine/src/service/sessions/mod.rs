//! Sessions: one actor may run several agents at a time, and agents die without notice. Who holds a bead is decided by the
//! claim in the store; which run of that actor made it, and whether that run still lives, is local knowledge.

mod admit;
mod table;

pub use table::{Life, SILENT_MS, Sessions};

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
    /// Notes that the session of a request was heard from.
    pub fn saw(&mut self, request: &Request) {
        let now_ms = self.replica.now_ms();
        if let Some(session) = &request.session
            && !matches!(request.call, Call::EndSession { .. })
        {
            Arc::make_mut(&mut self.sessions).saw(session, now_ms);
        }
    }

    /// Writes what is known about sessions, when a claim changed or it was not written for a while.
    pub(super) fn save_sessions(&mut self) {
        if !self.sessions.is_unsaved() {
            return;
        }
        self.follow_fences();
        let now_ms = self.replica.now_ms();
        Arc::make_mut(&mut self.sessions).save(now_ms);
    }

    /// Forgets claims that are over. A claim that another machine's loser overwrote got a new fence.
    pub(super) fn follow_fences(&mut self) {
        let (catalog, refs) = (self.replica.catalog(), &self.claim_refs);
        let current = |lineage: &Lineage, fence: Stamp| {
            let bead = catalog.live_bead(lineage).filter(|bead| bead.status() == Status::InProgress)?;
            bead.claim.fence().filter(|now| *now == refs.book.current(fence))
        };
        Arc::make_mut(&mut self.sessions).keep(current);
    }

    /// Notes the session behind a claim that was just made or renewed, or that its fence was presented.
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

    /// Beads in progress that an actor holds by a claim, also one whose lease ran out, as long as nobody took them.
    fn claimed_by<'a>(&'a self, request: &'a Request) -> impl Iterator<Item = (&'a Lineage, &'a Bead)> {
        let mine = move |bead: &Bead| {
            bead.status() == Status::InProgress
                && bead.claim.is_taken()
                && bead.claim.assignee.as_ref() == Some(&request.actor)
                && !bead.is_offer()
        };
        let live = self.replica.catalog().live();
        live.filter(move |(_, bead)| mine(bead)).map(|(lineage, bead)| (lineage, bead.as_ref()))
    }

    /// Whether a claim belongs to the session of a request: it was made there, or by nobody knows which.
    fn is_of_session(&self, request: &Request, lineage: &Lineage, bead: &Bead) -> bool {
        let held = self.sessions.held(lineage, bead.claim.fence());
        held.is_none_or(|held| Some(&held.session) == request.session.as_ref())
    }

    /// A sign of life: renews the leases of what the session holds when a third of them is over, and lists it.
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

    /// Claims again what the actor holds and no other session does: for an agent that was restarted.
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
                    let (session, life) = (&held.session, self.life_of(held, now_ms));
                    remarks.push(match life {
                        Life::Live(_) => format!("{id} is held by your session {session}, which is at work"),
                        Life::Silent(since) => format!(
                            "{id} is held by your session {session}, silent since {}: bd claim {id} --take-over",
                            shown(since)
                        ),
                        Life::Ended(_) => {
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

    /// What is known about the session behind a claim, also whether its process is gone.
    fn life_of(&self, held: &table::Held, now_ms: u64) -> Life {
        match self.sessions.life(held, now_ms) {
            Life::Live(last) | Life::Silent(last)
                if SessionLock::is_gone(&self.place.store_dir(), &held.session) =>
            {
                Life::Ended(last)
            }
            life => life,
        }
    }

    /// Ends a session: what it holds is given back under its fences, or kept for the next session of the same actor.
    pub(super) fn end_session(
        &mut self,
        request: &Request,
        keep: bool,
        only: &[Fence],
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let Some(session) = request.session.clone() else {
            return Err(Failure::usage(
                "which session ended is not known; give --session ID, or set BD_SESSION",
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
            // As its holder, of whom a session may have several: subagents share it.
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

    /// Every session that holds something, with what is known of it.
    pub(super) fn list_sessions(&mut self) -> Answer {
        self.follow_fences();
        let now_ms = self.replica.now_ms();
        let mut answers: Vec<SessionAnswer> = Vec::new();
        for (lineage, held) in self.sessions.claims() {
            let Some(claim) = self.held_answer(lineage) else { continue };
            let (state, seen_ms) = match self.life_of(held, now_ms) {
                Life::Live(at) => ("live", at),
                Life::Silent(at) => ("silent", at),
                Life::Ended(at) => ("ended", at),
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

    /// Claims whose sessions are silent, for `bd status`.
    pub(super) fn silent_claims(&self) -> Vec<SilentClaim> {
        let (catalog, now_ms) = (self.replica.catalog(), self.replica.now_ms());
        let silent = |(lineage, held): (&Lineage, &table::Held)| {
            let bead = catalog.live_bead(lineage).filter(|bead| bead.status() == Status::InProgress)?;
            let since = self.sessions.silent_since(lineage, bead.claim.fence(), now_ms)?;
            let (id, holder) = (catalog.id_of(lineage).clone(), bead.claim.assignee.clone()?);
            Some(SilentClaim { id, holder, session: held.session.clone(), since: shown(since) })
        };
        self.sessions.claims().filter_map(silent).collect()
    }
}

/// A time as it is shown.
fn shown(ms: u64) -> String {
    Timestamp::text_of(ms)
}

/// Whose session it is, as messages name it.
fn session_name(session: Option<&SessionId>) -> String {
    session.map_or_else(|| "without a session".to_owned(), |session| format!("in session {session}"))
}
