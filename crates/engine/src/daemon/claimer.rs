//! Claims that ask the remote: several at a time share one look and one push, in a thread of their own, so that a slow remote
//! keeps no other request waiting.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use tokio::sync::{mpsc, oneshot};

use super::engine::{Engine, Owed, Stopped};
use super::waiters::Waiting;
use crate::failure::{Code, Failure};
use crate::render;
use crate::request::{Reply, Request};
use crate::service::{ClaimJob, Picked, RoundResult, Settled};

/// A claim and the client that waits for it.
struct Claiming {
    job: Box<ClaimJob>,
    reply: oneshot::Sender<Reply>,
    /// How long it may wait for something to claim.
    until: Instant,
}

pub struct Claimer {
    pub results: mpsc::UnboundedReceiver<Result<RoundResult, Failure>>,
    send: mpsc::UnboundedSender<Result<RoundResult, Failure>>,
    running: bool,
    queue: Vec<Claiming>,
    in_flight: Vec<Claiming>,
    /// Claims that choose again once the remote's store was fetched: by the next sync, and by the one under way.
    next: Vec<Claiming>,
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
    /// Whether a claim waits for the remote's store.
    pub fn wants_fetch(&self) -> bool {
        !self.next.is_empty()
    }

    pub fn fetch_begins(&mut self) {
        self.fetching.append(&mut self.next);
    }
}

impl Engine {
    /// Takes a claim that asks the remote out of the ordinary way; everything else comes back.
    pub(super) fn take_claim(
        &mut self,
        request: Request,
        reply: oneshot::Sender<Reply>,
        replies: &mut Vec<Owed>,
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

    /// Tries those who wait again. Claims that ask the remote go their own way.
    pub(super) fn try_waiters(&mut self) -> Vec<Owed> {
        let (mut replies, claims) = self.waiters.serve(&mut self.service);
        for Waiting { request, reply, until } in claims {
            match self.service.claim_job(&request) {
                Some(Ok(job)) => self.claimer.queue.push(Claiming { job: Box::new(job), reply, until }),
                // Its scope was changed meanwhile, or it was answered before.
                _ => replies.push((reply, request.output.format, self.service.answer(&request))),
            }
        }
        replies
    }

    /// Lets everything that is queued choose a bead, and tries all of them at once.
    pub(super) fn start_round(&mut self) {
        if self.claimer.running || self.claimer.queue.is_empty() {
            return;
        }
        let before = self.service.position();
        let mut replies: Vec<Owed> = Vec::new();
        for mut claiming in std::mem::take(&mut self.claimer.queue) {
            // A client that left must not be given work.
            if claiming.reply.is_closed() {
                continue;
            }
            match self.service.pick(&mut claiming.job) {
                Ok(Picked::Chosen) => self.claimer.in_flight.push(claiming),
                Ok(Picked::Later) => self.claimer.queue.push(claiming),
                // Others may have made or given back something since the last exchange.
                Err(failure) if failure.code == Code::NothingReady && claiming.job.looks_again() => {
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
                    if let Settled::Answered(answer) = self.service.answered(claiming.job, Err(failure)) {
                        replies.push((claiming.reply, format, *answer));
                    }
                }
            }
        }
        // What was closed before nothing was found has to be durable, too; a failure shows with the next batch.
        let _ = self.deliver(replies, before);
        if self.claimer.wants_fetch() && !self.saver.running {
            self.start_fetch();
        }
        // Giving back a claim whose client left may have started the round already.
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

    pub(super) fn round_done(&mut self, result: Result<RoundResult, Failure>) -> Option<Stopped> {
        self.claimer.running = false;
        let before = self.service.position();
        let in_flight = std::mem::take(&mut self.claimer.in_flight);
        let outcomes = self.service.round_done(result, in_flight.len());
        let mut replies = Vec::new();
        for (Claiming { job, reply, until }, outcome) in in_flight.into_iter().zip(outcomes) {
            let format = job.request.output.format;
            let settled = self.service.settle_claim(job, outcome);
            self.settled(settled, (reply, until, format), &mut replies);
        }
        let stopped = self.deliver(replies, before);
        if self.claimer.wants_fetch() && !self.saver.running {
            self.start_fetch();
        }
        self.start_round();
        stopped
    }

    fn settled(
        &mut self,
        settled: Settled,
        (reply, until, format): (oneshot::Sender<Reply>, Instant, crate::request::Format),
        replies: &mut Vec<Owed>,
    ) {
        match settled {
            Settled::Again(job) => self.claimer.queue.push(Claiming { job, reply, until }),
            Settled::Behind(job) => self.claimer.next.push(Claiming { job, reply, until }),
            Settled::Answered(answer) => replies.push((reply, format, *answer)),
        }
    }

    /// The remote's store was fetched, or could not be: claims that waited for it choose again.
    pub(super) fn claims_fetched(&mut self) {
        let mut fetched = std::mem::take(&mut self.claimer.fetching);
        self.claimer.queue.append(&mut fetched);
        self.start_round();
    }
}
