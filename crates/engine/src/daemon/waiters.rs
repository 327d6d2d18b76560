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
    waiting: Vec<Waiter>,
    /// When a lease or a deferral ends that may make something ready.
    due: Option<Instant>,
}

#[derive(Debug)]
struct Waiter {
    request: Request,
    reply: oneshot::Sender<Reply>,
    until: Instant,
}

impl Waiters {
    /// Lets a request wait for as long as it wants to.
    pub fn add(&mut self, service: &Service, request: Request, reply: oneshot::Sender<Reply>) {
        if self.waiting.len() >= MAX_WAITERS {
            let failure = Failure::new(Code::Busy, "too many requests are waiting for something to happen");
            let _ = reply.send(render::failure_reply(failure, request.output.format));
            return;
        }
        let until = Instant::now() + request.call.wait();
        self.waiting.push(Waiter { request, reply, until });
        self.look_ahead(service);
    }

    /// The next moment at which somebody's wait ends or something becomes ready by itself.
    pub fn next_wake(&self) -> Option<Instant> {
        let ends = self.waiting.iter().map(|waiter| waiter.until).min()?;
        Some(self.due.map_or(ends, |due| due.min(ends)))
    }

    /// Tries everybody again. Answers are rendered, not sent: what they say must be durable first.
    pub fn serve(&mut self, service: &mut Service) -> Vec<Owed> {
        let mut answered = Vec::new();
        let now = Instant::now();
        for waiter in std::mem::take(&mut self.waiting) {
            // A client that left must not be given work.
            if waiter.reply.is_closed() {
                continue;
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
        answered
    }

    fn look_ahead(&mut self, service: &Service) {
        self.due = if self.waiting.is_empty() { None } else { service.next_ready_by_time() };
    }
}
