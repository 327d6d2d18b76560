//! Claims that wait for the hub.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use beads_store::hub::ClaimAnswer;
use tokio::sync::oneshot;

use super::claimer::Claiming;
use super::engine::{Engine, Stopped};
use super::hub::Call;
use crate::failure::Code;
use crate::render;
use crate::request::Reply;
use crate::service::{NextStep, UNDECIDED, holds_grants};

/// The pause before a claim is tried again while the hub holds grants.
const HOLD_PAUSE: Duration = Duration::from_millis(200);

/// A claim that the hub decides.
pub struct HubClaiming {
    pub claiming: Claiming,
    /// Until when the hub has to decide.
    pub deadline: Instant,
    pub not_before: Instant,
    /// How long the hub said that it would hold grants, if it did.
    pub held_ms: Option<u64>,
}

impl HubClaiming {
    /// Returns why the hub did not decide in time.
    fn reason(&self) -> String {
        self.held_ms.map_or_else(|| UNDECIDED.to_owned(), holds_grants)
    }
}

impl Engine {
    /// Queues a claim for the hub.
    pub(super) fn queue_hub_claim(&mut self, claiming: Claiming) {
        let now = Instant::now();
        let deadline = now + self.service.config().duration("claim.timeout");
        self.hub.claims.push_back(HubClaiming { claiming, deadline, not_before: now, held_ms: None });
    }

    /// Returns when a claim has to be tried again, or given up.
    pub(super) fn hub_wake(&self) -> Option<Instant> {
        let under_way = match &self.hub.call {
            Some(Call::Claim { claiming, .. }) => Some(claiming.deadline),
            _ => None,
        };
        let now = Instant::now();
        let queued = self.hub.claims.iter().map(|claim| {
            if claim.not_before > now { claim.not_before.min(claim.deadline) } else { claim.deadline }
        });
        queued.chain(under_way).min()
    }

    /// Returns whether claims wait for the hub.
    pub(super) fn awaits_hub(&self) -> bool {
        self.hub_wake().is_some()
    }

    /// Gives up claims that the hub did not decide in time, and makes the next call.
    pub(super) fn on_hub_timer(&mut self) -> Option<Stopped> {
        let now = Instant::now();
        let (late, rest): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.hub.claims).into_iter().partition(|claim| claim.deadline <= now);
        self.hub.claims = rest;
        let mut stopped = None;
        for claim in late {
            stopped = stopped.or(self.give_up_on_hub(claim));
        }
        if let Some(Call::Claim { claiming, .. }) = &mut self.hub.call
            && claiming.deadline <= now
        {
            // If the hub grants it after all, the reply cannot be delivered, and the claim is released.
            let (gone, _) = oneshot::channel::<Reply>();
            let given_up = std::mem::replace(&mut claiming.claiming.reply, gone);
            claiming.deadline = now + Duration::from_secs(24 * 60 * 60);
            let format = claiming.claiming.job.request.output.format;
            let reason = claiming.reason();
            let _ = given_up.send(render::failure_reply(self.service.hub_undecided(&reason), format));
        }
        self.step_hub();
        stopped
    }

    fn give_up_on_hub(&mut self, waiting: HubClaiming) -> Option<Stopped> {
        let before = self.service.position();
        let reason = self.service.hub_away_reason().unwrap_or_else(|| waiting.reason());
        let Claiming { job, reply, until } = waiting.claiming;
        let format = job.request.output.format;
        let step = self.service.without_hub(job, &reason);
        let mut replies = Vec::new();
        self.take_step(step, (reply, until, format), &mut replies);
        let stopped = self.deliver(replies, before);
        self.start_round();
        stopped
    }

    /// Answers the claims that wait for an unreachable hub.
    pub(super) fn refuse_waiting_hub_claims(&mut self) -> Option<Stopped> {
        let mut stopped = None;
        let waiting = std::mem::take(&mut self.hub.claims);
        for claim in waiting {
            stopped = stopped.or(self.give_up_on_hub(claim));
        }
        stopped
    }

    /// Asks for the first claim in the queue that is due. Returns whether there is one.
    pub(super) fn call_for_claim(&mut self) -> bool {
        let now = Instant::now();
        let before = self.service.position();
        let mut replies = Vec::new();
        let mut asked = false;
        for _ in 0..self.hub.claims.len() {
            let Some(mut waiting) = self.hub.claims.pop_front() else { break };
            if waiting.claiming.reply.is_closed() {
                continue;
            }
            if waiting.not_before > now {
                self.hub.claims.push_back(waiting);
                continue;
            }
            match self.service.hub_claim_request(&waiting.claiming.job) {
                // It is appended first.
                Ok(None) => self.hub.claims.push_back(waiting),
                Ok(Some(request)) => {
                    let Some(session) = self.service.hub_session() else { break };
                    let (seq, cursor) = (session.next_seq(), session.cursor().clone());
                    waiting.not_before = now;
                    self.hub.call = Some(Call::Claim { seq, cursor, request, claiming: Box::new(waiting) });
                    asked = true;
                    break;
                }
                Err(failure) => {
                    let Claiming { job, reply, until } = waiting.claiming;
                    if failure.code == Code::NothingReady && job.waits() && until > now {
                        self.waiters.add_until(&self.service, job.request, reply, until);
                        continue;
                    }
                    let format = job.request.output.format;
                    let step = self.service.answered(job, Err(failure));
                    self.take_step(step, (reply, until, format), &mut replies);
                }
            }
        }
        if asked {
            self.repeat_hub_call();
        }
        // What these requests closed must become durable, too. A failure will show in the next batch.
        let _ = self.deliver(replies, before);
        asked
    }

    pub(super) fn on_hub_claim(&mut self, answer: ClaimAnswer) -> Option<Stopped> {
        let Some(Call::Claim { request, claiming, .. }) = self.hub.call.take() else { return None };
        if self.is_hub_attached() {
            self.service.hub_back();
        }
        let HubClaiming { claiming, deadline, .. } = *claiming;
        let now = Instant::now();
        let retry = match answer {
            ClaimAnswer::Behind => Some((now, None)),
            ClaimAnswer::Hold(left_ms) => Some((now + HOLD_PAUSE, Some(left_ms))),
            _ => None,
        };
        if let Some((not_before, held_ms)) = retry {
            self.hub.claims.push_back(HubClaiming { claiming, deadline, not_before, held_ms });
            return None;
        }
        let before = self.service.position();
        let Claiming { job, reply, until } = claiming;
        let format = job.request.output.format;
        let step = match answer {
            ClaimAnswer::Granted(grant, cursor) => self.service.record_grant(job, &grant, &cursor),
            ClaimAnswer::Taken(holder, end) => self.service.hub_taken(job, &request, (holder, end)),
            _ => NextStep::Retry(job),
        };
        let mut replies = Vec::new();
        match step {
            NextStep::Retry(job) if job.is_via_hub() => {
                let claiming = Claiming { job, reply, until };
                self.hub.claims.push_back(HubClaiming { claiming, deadline, not_before: now, held_ms: None });
            }
            step => self.take_step(step, (reply, until, format), &mut replies),
        }
        self.deliver(replies, before)
    }
}
