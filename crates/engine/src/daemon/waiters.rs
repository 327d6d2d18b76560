//! Requests that wait for a result: for work, or for events. They are retried, in order of arrival, after
//! every change and when a lease or a deferral ends. There is no polling.

use std::time::Instant;

use tokio::sync::oneshot;

use super::MAX_WAITERS;
use super::engine::PendingReply;
use crate::failure::{Code, Failure};
use crate::render;
use crate::request::{Reply, Request};
use crate::service::Service;

/// The waiting requests.
#[derive(Debug, Default)]
pub struct Waiters {
    waiting: Vec<Waiting>,
    /// When the next lease or deferral ends, which may make a bead ready.
    due: Option<Instant>,
}

/// A waiting request and its client.
#[derive(Debug)]
pub struct Waiting {
    /// The request.
    pub request: Request,
    /// Where to send the reply.
    pub reply: oneshot::Sender<Reply>,
    /// Until when it waits.
    pub until: Instant,
}

impl Waiters {
    /// Adds a request, which waits for as long as it asked to.
    pub fn add(&mut self, service: &Service, request: Request, reply: oneshot::Sender<Reply>) {
        let until = Instant::now() + request.call.wait();
        self.add_until(service, request, reply, until);
    }

    /// Adds a request with the end of its wait, because it may have waited before.
    pub fn add_until(
        &mut self,
        service: &Service,
        request: Request,
        reply: oneshot::Sender<Reply>,
        until: Instant,
    ) {
        if self.waiting.len() >= MAX_WAITERS {
            let failure = Failure::new(Code::Busy, "too many requests are waiting for something to happen");
            let _ = reply.send(render::failure_reply(failure, request.output.format));
            return;
        }
        self.waiting.push(Waiting { request, reply, until });
        self.look_ahead(service);
    }

    /// Returns whether any request waits.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns when the next wait ends, or a bead may become ready without a change.
    pub fn next_wake(&self) -> Option<Instant> {
        let ends = self.waiting.iter().map(|waiter| waiter.until).min()?;
        Some(self.due.map_or(ends, |due| due.min(ends)))
    }

    /// Retries all waiting requests. Replies are not sent, because they must be durable first.
    ///
    /// Claims that the remote decides, and for which there is a candidate, are returned separately.
    pub fn serve(&mut self, service: &mut Service) -> (Vec<PendingReply>, Vec<Waiting>) {
        let mut answered = Vec::new();
        let mut claims = Vec::new();
        let now = Instant::now();
        for waiter in std::mem::take(&mut self.waiting) {
            // A client that is gone must not be given work.
            if waiter.reply.is_closed() {
                continue;
            }
            service.steal_for(&waiter.request);
            match service.can_try(&waiter.request) {
                Some(true) => {
                    claims.push(waiter);
                    continue;
                }
                Some(false) if waiter.until > now => {
                    self.waiting.push(waiter);
                    continue;
                }
                Some(false) => {
                    let failure = Failure::from(beads_core::Error::NothingReady).after_waiting();
                    let answer = render::failure_reply(failure, waiter.request.output.format);
                    answered.push((waiter.reply, waiter.request.output.format, answer));
                    continue;
                }
                None => {}
            }
            let answer = match service.attempt(&waiter.request) {
                None if waiter.until <= now => Some(service.answer(&waiter.request)),
                other => other,
            };
            match answer {
                Some(answer) => answered.push((waiter.reply, waiter.request.output.format, answer)),
                None => self.waiting.push(waiter),
            }
        }
        self.look_ahead(service);
        (answered, claims)
    }

    /// Computes when a bead may become ready without a change.
    fn look_ahead(&mut self, service: &Service) {
        let ready = if self.waiting.is_empty() { None } else { service.next_ready_by_time() };
        let steal = self.waiting.iter().filter_map(|waiter| service.next_steal(&waiter.request));
        self.due = steal.chain(ready).min();
    }
}
