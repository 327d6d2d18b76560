//! Claims that the remote decides. Several claims share one listing of refs and one push, in a separate
//! thread, so that a slow remote does not delay other requests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use tokio::sync::{mpsc, oneshot};

use super::engine::{Engine, PendingReply, Stopped};
use super::waiters::Waiting;
use crate::failure::{Code, Failure};
use crate::render;
use crate::request::{Reply, Request};
use crate::service::{ClaimJob, NextStep, Picked, RoundResult};

/// A claim and the client that waits for it.
pub(super) struct Claiming {
    pub job: Box<ClaimJob>,
    pub reply: oneshot::Sender<Reply>,
    /// Until when it may wait for a bead to claim.
    pub until: Instant,
}

/// The claims in progress that the remote decides.
pub struct Claimer {
    /// Receives the results of rounds.
    pub results: mpsc::UnboundedReceiver<Result<RoundResult, Failure>>,
    send: mpsc::UnboundedSender<Result<RoundResult, Failure>>,
    running: bool,
    /// Claims for the next round.
    queue: Vec<Claiming>,
    /// Claims in the running round.
    in_flight: Vec<Claiming>,
    /// Claims that retry after the next fetch.
    next: Vec<Claiming>,
    /// Claims that retry after the running fetch.
    fetching: Vec<Claiming>,
}

impl Default for Claimer {
    fn default() -> Self {
        let (send, results) = mpsc::unbounded_channel();
        let (queue, in_flight, next, fetching) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { results, send, running: false, queue, in_flight, next, fetching }
    }
}

impl Claimer {
    /// Returns whether a claim waits for a fetch.
    pub fn wants_fetch(&self) -> bool {
        !self.next.is_empty()
    }

    /// Notes that a fetch begins, which the waiting claims need.
    pub fn fetch_begins(&mut self) {
        self.fetching.append(&mut self.next);
    }
}

impl Engine {
    /// Queues a claim that the remote decides. Returns every other request.
    pub(super) fn take_claim(
        &mut self,
        request: Request,
        reply: oneshot::Sender<Reply>,
        replies: &mut Vec<PendingReply>,
    ) -> Option<(Request, oneshot::Sender<Reply>)> {
        let until = Instant::now() + request.call.wait();
        match self.service.claim_job(&request) {
            None => return Some((request, reply)),
            Some(Ok(job)) => self.claimer.queue.push(Claiming { job: Box::new(job), reply, until }),
            Some(Err(failure)) => {
                let position = self.service.position();
                let answer = render::reply(Err(failure), &request.output, position);
                replies.push((reply, request.output.format, answer));
            }
        }
        None
    }

    /// Retries the waiting requests. Claims that the remote decides are queued for a round.
    pub(super) fn try_waiters(&mut self) -> Vec<PendingReply> {
        let (mut replies, claims) = self.waiters.serve(&mut self.service);
        for Waiting { request, reply, until } in claims {
            match self.service.claim_job(&request) {
                Some(Ok(job)) => self.claimer.queue.push(Claiming { job: Box::new(job), reply, until }),
                // `claim.scope` has changed, or the request was answered before.
                _ => replies.push((reply, request.output.format, self.service.answer(&request))),
            }
        }
        replies
    }

    /// Lets every queued claim choose a bead, and tries all of them in one round.
    pub(super) fn start_round(&mut self) {
        self.hand_claims_to_hub();
        if self.claimer.running || self.claimer.queue.is_empty() {
            return;
        }
        let before = self.service.position();
        let mut replies: Vec<PendingReply> = Vec::new();
        for mut claiming in std::mem::take(&mut self.claimer.queue) {
            // A client that is gone must not be given work.
            if claiming.reply.is_closed() {
                continue;
            }
            match self.service.pick(&mut claiming.job) {
                Ok(Picked::Chosen) => self.claimer.in_flight.push(claiming),
                Ok(Picked::Later) => self.claimer.queue.push(claiming),
                // Others may have created or released a bead since the last exchange.
                Err(failure) if failure.code == Code::NothingReady && claiming.job.take_refetch() => {
                    self.claimer.next.push(claiming);
                }
                Err(failure)
                    if failure.code == Code::NothingReady
                        && claiming.job.waits()
                        && claiming.until > Instant::now() =>
                {
                    let Claiming { job, reply, until } = claiming;
                    self.waiters.add_until(&self.service, job.request, reply, until);
                }
                Err(failure) => {
                    let format = claiming.job.request.output.format;
                    if let NextStep::Answered(answer) = self.service.answered(claiming.job, Err(failure)) {
                        replies.push((claiming.reply, format, *answer));
                    }
                }
            }
        }
        // What these requests closed must become durable, too. A failure will show in the next batch.
        let _ = self.deliver(replies, before);
        if self.claimer.wants_fetch() && !self.saver.running {
            self.start_fetch();
        }
        // Releasing a claim whose client is gone may have started the round already.
        if self.claimer.in_flight.is_empty() || self.claimer.running {
            return;
        }
        self.claimer.running = true;
        let jobs: Vec<_> = self.claimer.in_flight.iter().map(|claiming| claiming.job.as_ref()).collect();
        let round = self.service.claim_round(&jobs);
        let send = self.claimer.send.clone();
        std::thread::spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| round.run()));
            let _ = send.send(result.unwrap_or_else(|_| Err(Failure::internal("claiming panicked"))));
        });
    }

    /// Queues the claims that the hub decides there.
    fn hand_claims_to_hub(&mut self) {
        if self.claimer.queue.iter().all(|claiming| !claiming.job.is_via_hub()) {
            return;
        }
        let queue = std::mem::take(&mut self.claimer.queue);
        let (hub, rest): (Vec<_>, Vec<_>) = queue.into_iter().partition(|one| one.job.is_via_hub());
        self.claimer.queue = rest;
        hub.into_iter().for_each(|claiming| self.queue_hub_claim(claiming));
        self.step_hub();
    }

    /// Applies the result of a round to its claims.
    pub(super) fn round_done(&mut self, result: Result<RoundResult, Failure>) -> Option<Stopped> {
        self.claimer.running = false;
        let before = self.service.position();
        let in_flight = std::mem::take(&mut self.claimer.in_flight);
        let outcomes = self.service.round_done(result, in_flight.len());
        let mut replies = Vec::new();
        for (Claiming { job, reply, until }, outcome) in in_flight.into_iter().zip(outcomes) {
            let format = job.request.output.format;
            let step = self.service.apply_outcome(job, outcome);
            self.take_step(step, (reply, until, format), &mut replies);
        }
        let stopped = self.deliver(replies, before);
        if self.claimer.wants_fetch() && !self.saver.running {
            self.start_fetch();
        }
        self.start_round();
        stopped
    }

    /// Queues a claim for its next step, or its reply.
    pub(super) fn take_step(
        &mut self,
        step: NextStep,
        (reply, until, format): (oneshot::Sender<Reply>, Instant, crate::request::Format),
        replies: &mut Vec<PendingReply>,
    ) {
        match step {
            NextStep::Retry(job) => self.claimer.queue.push(Claiming { job, reply, until }),
            NextStep::FetchFirst(job) => self.claimer.next.push(Claiming { job, reply, until }),
            NextStep::Answered(answer) => replies.push((reply, format, *answer)),
        }
    }

    /// Retries the claims that waited for a fetch, whether it succeeded or not.
    pub(super) fn claims_fetched(&mut self) {
        let mut fetched = std::mem::take(&mut self.claimer.fetching);
        self.claimer.queue.append(&mut fetched);
        self.start_round();
    }
}
