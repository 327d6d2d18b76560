//! Requests that wait for something to answer: for work, or for events. They are tried again, in the order in which
//! they came, whenever something changed and whenever time alone may have made a bead ready. Nobody polls.

use std::time::Instant;

use tokio::sync::oneshot;

use super::MAX_WAITERS;
use super::engine::Owed;
use crate::failure::{Code, Failure};
use crate::render;
use crate::request::{Reply, Request};
use crate::service::Service;

#[derive(Debug, Default)]
pub struct Waiters {
    waiting: Vec<Waiting>,
    /// When a lease or a deferral ends that may make something ready.
    due: Option<Instant>,
}

/// A request, its client, and how long it waits.
#[derive(Debug)]
pub struct Waiting {
    pub request: Request,
    pub reply: oneshot::Sender<Reply>,
    pub until: Instant,
}

impl Waiters {
    /// Lets a request wait for as long as it wants to.
    pub fn add(&mut self, service: &Service, request: Request, reply: oneshot::Sender<Reply>) {
        let until = Instant::now() + request.call.wait();
        self.add_until(service, request, reply, until);
    }

    /// The same for one that has waited before.
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

    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next moment at which somebody's wait ends or something becomes ready by itself.
    pub fn next_wake(&self) -> Option<Instant> {
        let ends = self.waiting.iter().map(|waiter| waiter.until).min()?;
        Some(self.due.map_or(ends, |due| due.min(ends)))
    }

    /// Tries everybody again. Answers are rendered, not sent: what they say must be durable first.
    ///
    /// Claims that ask the remote and have something to try come back as they are.
    pub fn serve(&mut self, service: &mut Service) -> (Vec<Owed>, Vec<Waiting>) {
        let mut answered = Vec::new();
        let mut claims = Vec::new();
        let now = Instant::now();
        for waiter in std::mem::take(&mut self.waiting) {
            // A client that left must not be given work.
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
                    let failure = Failure::from(beads_core::Error::NothingReady);
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

    fn look_ahead(&mut self, service: &Service) {
        let ready = if self.waiting.is_empty() { None } else { service.next_ready_by_time() };
        let steal = self.waiting.iter().filter_map(|waiter| service.next_steal(&waiter.request));
        self.due = steal.chain(ready).min();
    }
}
