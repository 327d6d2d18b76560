//! Claims whose replies could not be delivered.

use std::time::{Duration, Instant};

use beads_core::Op;
use beads_core::op::{Guard, Unclaim};

use super::VERSION;
use super::engine::{Engine, Stopped};
use crate::request::{Call, HandedOut, Output, Request};

/// How long a claim whose reply was lost is kept for a caller that chose its request id.
const KEPT_FOR_RETRY: Duration = Duration::from_secs(60);

/// Why such a claim is given back.
const UNDELIVERED: &str = "given back: the reply to the claim could not be delivered";

impl Engine {
    /// Frees claims whose replies could not be delivered. One whose caller chose a request id may be asked for again, and
    /// is kept for a while.
    pub(super) fn give_back(&mut self, lost: Vec<HandedOut>) -> Option<Stopped> {
        let mut freed = false;
        for claim in lost {
            if claim.may_be_retried() {
                self.undelivered.push((Instant::now() + KEPT_FOR_RETRY, claim));
            } else {
                freed |= self.free(&claim);
            }
        }
        if !freed {
            return None;
        }
        match self.service.commit() {
            Ok(()) => {
                self.changed();
                self.serve_waiters()
            }
            Err(failure) => Some(Stopped::JournalFailed(failure)),
        }
    }

    /// Under its fence, so that a claim that is over already, or another one, is left alone.
    fn free(&mut self, claim: &HandedOut) -> bool {
        let (Ok(fence), Ok(reason)) = (claim.fence.parse(), UNDELIVERED.parse()) else { return false };
        let guard = Guard { fence: Some(fence), ..Guard::default() };
        let unclaim = Unclaim { id: claim.id.clone(), guard, reason, ..Unclaim::default() };
        let request = Request {
            client: VERSION.to_owned(),
            actor: claim.actor.clone(),
            branch: Default::default(),
            session: None,
            request_id: None,
            no_export: false,
            offline: false,
            call: Call::one(Op::Unclaim(unclaim)),
            output: Output::default(),
        };
        self.service.answer(&request).error.is_none()
    }

    pub(super) fn free_overdue(&mut self) -> Option<Stopped> {
        let now = Instant::now();
        let (due, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.undelivered).into_iter().partition(|(until, _)| *until <= now);
        self.undelivered = kept;
        // Nobody asked again in time.
        let lost = due.into_iter().map(|(_, claim)| HandedOut { request_id: None, ..claim }).collect();
        self.give_back(lost)
    }
}
