//! Releases claims whose replies could not be delivered.

use std::time::{Duration, Instant};

use beads_core::Op;
use beads_core::op::{Guard, Unclaim};

use super::VERSION;
use super::engine::{Engine, Stopped};
use crate::request::{Call, HandedOut, Output, Request};

/// How long a claim with a lost reply is kept for a caller that chose its request id and may retry.
const KEPT_FOR_RETRY: Duration = Duration::from_secs(60);

/// The reason recorded for the release.
const UNDELIVERED: &str = "given back: the reply to the claim could not be delivered";

impl Engine {
    /// Releases claims whose replies could not be delivered. If the caller chose the request id, it may
    /// retry, so the claim is kept for a while.
    pub(super) fn release_undelivered(&mut self, lost: Vec<HandedOut>) -> Option<Stopped> {
        let mut freed = false;
        for claim in lost {
            if claim.may_be_retried() {
                self.undelivered.push((Instant::now() + KEPT_FOR_RETRY, claim));
            } else {
                freed |= self.release(&claim);
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

    /// Releases a claim under its fence, so that a claim that has ended, or a newer one, is not affected.
    fn release(&mut self, claim: &HandedOut) -> bool {
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

    /// Releases the claims whose callers did not retry in time.
    pub(super) fn release_overdue(&mut self) -> Option<Stopped> {
        let now = Instant::now();
        let (due, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.undelivered).into_iter().partition(|(until, _)| *until <= now);
        self.undelivered = kept;
        // Without a request id they are released.
        let lost = due.into_iter().map(|(_, claim)| HandedOut { request_id: None, ..claim }).collect();
        self.release_undelivered(lost)
    }
}
