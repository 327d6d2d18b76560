//! What follows from a round: another try, a fetch of the remote's store, or an answer.

use beads_core::ClaimRecord;
use beads_store::{Attempt, Outcome, RoundResult, Steady, SystemUptime, withdraw};
use serde_json::{Value, json};

use super::job::{ClaimJob, Picked};
use super::own::RefusedRefs;
use super::scope::Needs;
use crate::failure::{Code, Failure};
use crate::render::{Answer, ClosedAndClaimed, ConfirmedAnswer, Done, shown};
use crate::request::{Reply, Request};
use crate::service::Service;
use crate::service::mutate::done;

/// What follows for one job.
#[derive(Debug)]
pub enum Settled {
    /// It tries again, perhaps another bead.
    Again(Box<ClaimJob>),
    /// The remote's store is fetched first, then it tries.
    Behind(Box<ClaimJob>),
    /// It is answered. The answer must not leave before it is durable.
    Answered(Box<Reply>),
}

impl Service {
    /// Takes in what a round saw, before its jobs are settled one by one.
    pub fn round_done(
        &mut self,
        result: Result<RoundResult, Failure>,
        jobs: usize,
    ) -> Vec<Result<Outcome, Failure>> {
        match result {
            Ok(result) => {
                let outcomes = self.claim_refs.book.round_done(result, &SystemUptime.now());
                if outcomes.iter().any(Outcome::is_won) {
                    self.note_push();
                }
                outcomes.into_iter().map(Ok).collect()
            }
            Err(failure) => {
                let failure = unreachable(failure);
                (0..jobs).map(|_| Err(failure.clone())).collect()
            }
        }
    }

    pub fn settle_claim(&mut self, mut job: Box<ClaimJob>, outcome: Result<Outcome, Failure>) -> Settled {
        let Some(attempt) = job.attempt.clone() else { return Settled::Again(job) };
        self.claim_refs.book.tried(&attempt.record.claim, outcome.as_ref().ok());
        match outcome {
            Ok(Outcome::Won(..)) => {
                self.won();
                self.make(job, &attempt)
            }
            // Not confirmed: the bead may be over on the remote, whose store could not be looked at.
            Ok(Outcome::WonUnseen(error)) => {
                self.won();
                self.without_remote(job, &attempt, unreachable(Failure::from(&*error)))
            }
            // The ref is given back after the next exchange: the store has no such claim.
            Ok(Outcome::WonTooLate) => {
                job.tried.insert(attempt.record.lineage.clone());
                job.exchanged = true;
                Settled::Behind(job)
            }
            Ok(Outcome::Held(holder)) => self.held(job, &attempt, holder.as_ref()),
            Ok(Outcome::Low(_) | Outcome::Gone) => Settled::Again(job),
            Ok(Outcome::Behind) => {
                job.exchanged = true;
                // Nothing was tried.
                job.tries -= 1;
                Settled::Behind(job)
            }
            Ok(Outcome::Refused(reason)) => {
                self.note_refused(&reason);
                self.without_remote(job, &attempt, refused(&reason))
            }
            Err(failure) => self.without_remote(job, &attempt, failure),
        }
    }

    pub(super) fn note_refused(&mut self, reason: &str) {
        let (prefix, since_ms) = (self.ref_prefix(), self.replica.now_ms());
        self.claim_refs.refused = Some(RefusedRefs { prefix, reason: reason.to_owned(), since_ms });
        self.claim_refs.save();
    }

    /// Another machine has the bead: the next one, or an error that names the holder.
    fn held(&mut self, mut job: Box<ClaimJob>, attempt: &Attempt, holder: Option<&ClaimRecord>) -> Settled {
        let lineage = &attempt.record.lineage;
        if attempt.existing
            && let Some(holder) = holder
        {
            let withdrawn = withdraw(&mut self.replica, lineage, attempt.record.fence, holder);
            if let Err(error) = withdrawn {
                crate::log::note(&format!("a lost claim was not withdrawn: {error}"));
            }
        }
        if job.is_next() {
            job.tried.insert(lineage.clone());
            return Settled::Again(job);
        }
        let id = self.replica.catalog().id_of(lineage).clone();
        let name = holder.map(|record| record.holder.clone());
        let shown = name.as_ref().map_or_else(|| "another machine".to_owned(), ToString::to_string);
        let message = format!("{id} is held by {shown}, who was faster on another machine");
        let details = json!({"id": id, "holder": name, "expires": Value::Null});
        self.answered(job, Err(Failure::new(Code::AlreadyClaimed, message).with(details)))
    }

    /// The remote did not answer in time: the claim is made here and confirmed later, unless it must be confirmed now.
    fn without_remote(&mut self, job: Box<ClaimJob>, attempt: &Attempt, failure: Failure) -> Settled {
        if job.needs == Needs::Must {
            let message = format!("{}; nothing was claimed", failure.message);
            return self.answered(job, Err(Failure { message, ..failure }));
        }
        self.remarks.push(format!(
            "the claim is not confirmed: {}; it is confirmed or withdrawn when the remote answers",
            failure.message
        ));
        self.make(job, attempt)
    }

    /// The server takes claim refs.
    fn won(&mut self) {
        self.claim_refs.refused = None;
        self.claim_refs.save();
    }

    /// Makes the claim in the store, under the fence that the ref names.
    fn make(&mut self, mut job: Box<ClaimJob>, attempt: &Attempt) -> Settled {
        let lineage = &attempt.record.lineage;
        let id = self.replica.catalog().id_of(lineage).to_string();
        let op = job.op_of(attempt, id);
        let before = self.replica.position();
        if let Err(failure) = self.identify_innermost(&job.request) {
            return self.answered(job, Err(failure));
        }
        let caller = self.caller(&job.request, job.index);
        let applied = match self.replica.apply(&op, &caller) {
            Ok(applied) => applied,
            Err(error) => {
                let failure = Failure::from(error);
                // The ref, if it was won, is given back by the next exchange: the store has no such claim.
                if job.is_next() && failure.code != Code::StaleClaim {
                    job.tried.insert(lineage.clone());
                }
                let retried = job.is_next() || failure.code == Code::StaleClaim && !attempt.existing;
                return if retried { Settled::Again(job) } else { self.answered(job, Err(failure)) };
            }
        };
        self.claim_refs.book.claimed(&attempt.record.claim, self.replica.catalog());
        self.claim_refs.save();
        self.note_claim(&job.request, &job.op, lineage, applied.fence);
        self.note_change(&job.request, before);
        let answer = done(self.replica.catalog(), &job.op, &applied, false).and_then(|mut done| {
            done.confirm(self.is_confirmed(lineage));
            self.claimed_answer(&mut job, done)
        });
        self.answered(job, answer)
    }

    fn claimed_answer(&mut self, job: &mut ClaimJob, done: Done) -> Result<Answer, Failure> {
        let answer = match job.closed.take() {
            Some(closed) => {
                Answer::ClosedAndClaimed(ClosedAndClaimed { closed, claimed: Some(Box::new(done)) })
            }
            None if job.many => Answer::Many(vec![done]),
            None => Answer::One(Box::new(done)),
        };
        if !job.confirm || !matches!(answer, Answer::One(_)) {
            return Ok(answer);
        }
        let claimed = serde_json::to_value(shown(&answer, job.output.dialect)).map_err(Failure::internal)?;
        let remote = self.sync_plan().remote_name()?.map_or(Value::Null, Value::from);
        Ok(Answer::Confirmed(ConfirmedAnswer { claimed, remote }))
    }

    /// The reply to a job. That nothing is left to claim after a close is no failure.
    pub fn answered(&mut self, mut job: Box<ClaimJob>, result: Result<Answer, Failure>) -> Settled {
        let result = match (job.closed.take(), result) {
            (Some(closed), Err(failure)) if failure.code == Code::NothingReady => {
                Ok(Answer::ClosedAndClaimed(ClosedAndClaimed { closed, claimed: None }))
            }
            (Some(closed), Err(failure)) => {
                let closed = json!({"closed": shown(&Answer::Many(closed), job.output.dialect)});
                Err(failure.with(closed))
            }
            (_, result) => result,
        };
        let reply = self.reply_to(&job.request, result, &job.output, job.format_before);
        Settled::Answered(Box::new(reply))
    }

    /// The whole way in this thread, for a command without daemon. `None` for a request that waits and found nothing.
    ///
    /// No daemon pushes in the background there, so what was done under earlier claims goes to the remote now: else others would
    /// find those beads unfinished when the leases on their refs are over.
    pub(in crate::service) fn claim_here(&mut self, job: ClaimJob) -> Option<Reply> {
        let reply = self.try_here(job);
        if self.replica.position() > self.sync_state.pushed_position
            && let Err(failure) = self.exchange_in_passing()
        {
            crate::log::note(&format!("sync failed: {}: {}", failure.code, failure.message));
        }
        reply
    }

    fn try_here(&mut self, job: ClaimJob) -> Option<Reply> {
        let mut job = Box::new(job);
        loop {
            match self.pick(&mut job) {
                Ok(Picked::Chosen | Picked::Later) => {}
                Err(failure) if failure.code == Code::NothingReady && job.looks_again() => {
                    let _ = self.fetch_now();
                    continue;
                }
                Err(failure) if failure.code == Code::NothingReady && job.waits() => return None,
                Err(failure) => match self.answered(job, Err(failure)) {
                    Settled::Answered(reply) => return Some(*reply),
                    _ => return None,
                },
            }
            let result = self.claim_round(&[job.as_ref()]).run();
            let outcome = self.round_done(result, 1).pop().unwrap_or(Ok(Outcome::Gone));
            job = match self.settle_claim(job, outcome) {
                Settled::Again(job) => job,
                Settled::Behind(job) => {
                    let _ = self.fetch_now();
                    job
                }
                Settled::Answered(reply) => return Some(*reply),
            };
        }
    }

    fn identify_innermost(&mut self, request: &Request) -> Result<(), Failure> {
        let mut call = &request.call;
        while let crate::request::Call::Wait { call: inner, .. }
        | crate::request::Call::Confirm { call: inner } = call
        {
            call = inner;
        }
        self.identify(request, call)
    }
}

/// A remote that did not answer, in the words of a claim.
fn unreachable(failure: Failure) -> Failure {
    match failure.code {
        Code::Timeout => {
            let remote = failure.details["remote"].as_str().unwrap_or("the remote").to_owned();
            let message = format!("{remote} did not answer within the time of the setting claim.timeout");
            Failure::new(Code::NetworkError, message).with(failure.details)
        }
        _ => failure,
    }
}

fn refused(reason: &str) -> Failure {
    let message = format!(
        "the remote does not take claim refs: {reason}; bd config set claim.ref_prefix refs/heads/beads-claims/ puts them \
         where most servers take them"
    );
    Failure::new(Code::PushRefused, message)
}
