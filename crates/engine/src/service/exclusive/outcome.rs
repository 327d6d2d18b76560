//! Applies the outcome of a claim round: another attempt, a fetch of the remote's store, or an answer.

use beads_core::{ClaimRecord, Lineage, Op};
use beads_store::{Attempt, Outcome, RoundResult, SteadyClock, SystemUptime, withdraw};
use serde_json::{Value, json};

use super::claim_refs::RefusedRefs;
use super::job::{ClaimJob, Picked};
use super::scope::Needs;
use crate::failure::{Code, Failure};
use crate::render::{Answer, ClosedAndClaimed, ConfirmedAnswer, Done, shown};
use crate::request::{Reply, Request};
use crate::service::Service;
use crate::service::mutate::done;

/// The next step of a claim after a round.
#[derive(Debug)]
pub enum NextStep {
    /// It tries again, possibly another bead.
    Retry(Box<ClaimJob>),
    /// It tries again after the remote's store was fetched.
    FetchFirst(Box<ClaimJob>),
    /// It is answered. The answer must not be sent before it is durable.
    Answered(Box<Reply>),
}

impl Service {
    /// Records what a round saw, before the outcomes are applied to its jobs.
    pub fn round_done(
        &mut self,
        result: Result<RoundResult, Failure>,
        jobs: usize,
    ) -> Vec<Result<Outcome, Failure>> {
        match result {
            Ok(result) => {
                let outcomes = self.claim_refs.book.round_finished(result, &SystemUptime.now());
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

    /// Applies the outcome of a round to one of its jobs.
    pub fn apply_outcome(&mut self, mut job: Box<ClaimJob>, outcome: Result<Outcome, Failure>) -> NextStep {
        let Some(attempt) = job.attempt.clone() else { return NextStep::Retry(job) };
        self.claim_refs.book.attempt_finished(&attempt.record.claim, outcome.as_ref().ok());
        match outcome {
            Ok(Outcome::Won(..)) => {
                self.note_refs_accepted();
                self.record_claim(job, &attempt)
            }
            // Not confirmed: the bead may be closed on the remote, whose store could not be fetched.
            Ok(Outcome::WonUnchecked(error)) => {
                self.note_refs_accepted();
                self.without_remote(job, &attempt, unreachable(Failure::from(&*error)))
            }
            // The next exchange releases the ref, because the store has no such claim.
            Ok(Outcome::WonButClosed) => {
                job.tried.insert(attempt.record.lineage.clone());
                job.exchanged = true;
                NextStep::FetchFirst(job)
            }
            Ok(Outcome::Held(holder)) => self.held(job, &attempt, holder.as_ref()),
            Ok(Outcome::FenceTooLow(_) | Outcome::Gone) => NextStep::Retry(job),
            Ok(Outcome::StoreBehind) => {
                job.exchanged = true;
                // This attempt does not count.
                job.tries -= 1;
                NextStep::FetchFirst(job)
            }
            Ok(Outcome::Refused(reason)) => {
                self.note_refused(&reason);
                self.without_remote(job, &attempt, refused(&reason))
            }
            Err(failure) => self.without_remote(job, &attempt, failure),
        }
    }

    /// Records that the server rejects claim refs.
    pub(super) fn note_refused(&mut self, reason: &str) {
        let (prefix, since_ms) = (self.ref_prefix(), self.replica.now_ms());
        self.claim_refs.refused = Some(RefusedRefs { prefix, reason: reason.to_owned(), since_ms });
        self.claim_refs.save();
    }

    /// Handles a bead that another machine holds: tries the next bead, or fails with the name of the holder.
    fn held(&mut self, mut job: Box<ClaimJob>, attempt: &Attempt, holder: Option<&ClaimRecord>) -> NextStep {
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
            return NextStep::Retry(job);
        }
        let id = self.replica.catalog().id_of(lineage).clone();
        let name = holder.map(|record| record.holder.clone());
        let shown = name.as_ref().map_or_else(|| "another actor".to_owned(), ToString::to_string);
        let message = format!("{id} was claimed by {shown} on another machine first");
        let details = json!({"id": id, "holder": name, "expires": Value::Null});
        self.answered(job, Err(Failure::new(Code::AlreadyClaimed, message).with(details)))
    }

    /// Handles a remote that did not answer in time: the claim is made locally and confirmed later, unless it
    /// must be confirmed now.
    fn without_remote(&mut self, job: Box<ClaimJob>, attempt: &Attempt, failure: Failure) -> NextStep {
        if job.needs == Needs::Must {
            let message = format!("{}; nothing was claimed", failure.message);
            return self.answered(job, Err(Failure { message, ..failure }));
        }
        self.remarks.push(format!(
            "the claim is not confirmed: {}; it will be confirmed or withdrawn once the remote answers",
            failure.message
        ));
        self.record_claim(job, attempt)
    }

    /// Makes a claim that the hub would have to decide, without it. It is never confirmed.
    pub(in crate::service) fn claim_offline(&mut self, job: Box<ClaimJob>, reason: &str) -> NextStep {
        let Some(attempt) = job.attempt.clone() else { return NextStep::Retry(job) };
        self.claim_refs.book.attempt_finished(&attempt.record.claim, None);
        self.remarks.push(format!(
            "the claim is not confirmed: the hub decides claims, but {reason}; others may get the bead there"
        ));
        self.record_claim(job, &attempt)
    }

    /// Records that the server accepts claim refs.
    fn note_refs_accepted(&mut self) {
        self.claim_refs.refused = None;
        self.claim_refs.save();
    }

    /// Records the claim in the store, under the fence that the ref names.
    fn record_claim(&mut self, job: Box<ClaimJob>, attempt: &Attempt) -> NextStep {
        let lineage = &attempt.record.lineage;
        let id = self.replica.catalog().id_of(lineage).to_string();
        let op = job.op_of(attempt, id);
        self.record_op(job, lineage, &op, Some(attempt))
    }

    /// Applies the operation that records a claim, and answers the request.
    pub(in crate::service) fn record_op(
        &mut self,
        mut job: Box<ClaimJob>,
        lineage: &Lineage,
        op: &Op,
        attempt: Option<&Attempt>,
    ) -> NextStep {
        let before = self.replica.position();
        if let Err(failure) = self.identify_innermost(&job.request) {
            return self.answered(job, Err(failure));
        }
        let caller = self.caller(&job.request, job.index);
        let applied = match self.replica.apply(op, &caller) {
            Ok(applied) => applied,
            Err(error) => {
                let failure = Failure::from(error);
                // If the ref was won, the next exchange releases it, because the store has no such claim.
                if job.is_next() && failure.code != Code::StaleClaim {
                    job.tried.insert(lineage.clone());
                }
                let retried = job.is_next()
                    || failure.code == Code::StaleClaim && attempt.is_none_or(|attempt| !attempt.existing);
                return if retried { NextStep::Retry(job) } else { self.answered(job, Err(failure)) };
            }
        };
        if let Some(attempt) = attempt {
            self.claim_refs.book.claimed(&attempt.record.claim, self.replica.catalog());
            self.claim_refs.save();
        }
        self.note_claim(&job.request, &job.op, lineage, applied.fence);
        self.note_change(&job.request, before);
        let answer = done(self.replica.catalog(), &job.op, &applied, false).and_then(|mut done| {
            done.confirm(self.is_confirmed(lineage));
            self.claimed_answer(&mut job, done)
        });
        self.answered(job, answer)
    }

    /// Returns the answer to a claim that was made.
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

    /// Returns the reply to a job. After a close, it is not an error if nothing is left to claim.
    pub fn answered(&mut self, mut job: Box<ClaimJob>, result: Result<Answer, Failure>) -> NextStep {
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
        NextStep::Answered(Box::new(reply))
    }

    /// Runs a whole claim in this thread, for a command without a daemon. Returns `None` if the request waits
    /// and nothing is ready.
    ///
    /// Without a daemon nothing is pushed in the background, so the work done under earlier claims is pushed
    /// now. Otherwise others would find those beads unfinished when the leases on their refs expire.
    pub(in crate::service) fn claim_in_this_thread(&mut self, job: ClaimJob) -> Option<Reply> {
        let reply = self.try_in_this_thread(job);
        if self.replica.position() > self.sync_state.pushed_position
            && let Err(failure) = self.sync_unasked()
        {
            crate::log::note(&format!("sync failed: {}: {}", failure.code, failure.message));
        }
        reply
    }

    fn try_in_this_thread(&mut self, job: ClaimJob) -> Option<Reply> {
        let mut job = Box::new(job);
        if job.is_via_hub() {
            job = match self.claim_at_hub(job) {
                Ok(reply) => return reply,
                Err(job) => job,
            };
        }
        loop {
            match self.pick(&mut job) {
                Ok(Picked::Chosen | Picked::Later) => {}
                Err(failure) if failure.code == Code::NothingReady && job.take_refetch() => {
                    let _ = self.fetch_now();
                    continue;
                }
                Err(failure) if failure.code == Code::NothingReady && job.waits() => return None,
                Err(failure) => match self.answered(job, Err(failure)) {
                    NextStep::Answered(reply) => return Some(*reply),
                    _ => return None,
                },
            }
            let result = self.claim_round(&[job.as_ref()]).run();
            let outcome = self.round_done(result, 1).pop().unwrap_or(Ok(Outcome::Gone));
            job = match self.apply_outcome(job, outcome) {
                NextStep::Retry(job) => job,
                NextStep::FetchFirst(job) => {
                    let _ = self.fetch_now();
                    job
                }
                NextStep::Answered(reply) => return Some(*reply),
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

/// Converts a timeout of the remote into an error about the claim.
fn unreachable(failure: Failure) -> Failure {
    match failure.code {
        Code::Timeout => {
            let remote = failure.details["remote"].as_str().unwrap_or("the remote").to_owned();
            let message = format!("{remote} did not answer within the setting claim.timeout");
            Failure::new(Code::NetworkError, message).with(failure.details)
        }
        _ => failure,
    }
}

fn refused(reason: &str) -> Failure {
    let message = format!(
        "the remote rejects claim refs: {reason}; to use a prefix that most servers accept, run bd config set \
         claim.ref_prefix refs/heads/beads-claims/"
    );
    Failure::new(Code::PushRefused, message)
}
