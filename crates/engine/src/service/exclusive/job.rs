//! A claim on its way: which bead is tried next, and under which fence.

use std::collections::BTreeSet;

use beads_core::op::ClaimBead;
use beads_core::{Lineage, Op};
use beads_store::{Attempt, Steady, SystemUptime};

use super::scope::Needs;
use crate::failure::{Code, Failure};
use crate::render::{Answer, Done};
use crate::request::{Call, Mutate, Output, Request};
use crate::service::{Service, millis};

/// How many candidates of `claim --next` are looked at before it counts as nothing.
const MAX_CANDIDATES: usize = 256;

/// How often a claim is tried before its caller is told that others are faster.
const MAX_TRIES: usize = 64;

/// A claim that needs the remote's word.
#[derive(Debug)]
pub struct ClaimJob {
    pub request: Request,
    pub(super) output: Output,
    pub(super) format_before: u64,
    /// `Op::Claim` or `Op::ClaimNext`.
    pub(super) op: Op,
    /// Its place among the operations of the request.
    pub(super) index: usize,
    /// Whether the answer is an array.
    pub(super) many: bool,
    /// What the same request has closed before.
    pub(super) closed: Option<Vec<Done>>,
    pub(super) needs: Needs,
    pub(super) confirm: bool,
    pub(super) tried: BTreeSet<Lineage>,
    pub(super) tries: usize,
    pub(super) attempt: Option<Attempt>,
    /// The store was exchanged for this claim, so that candidates are not chosen from an old one again.
    pub(super) exchanged: bool,
}

/// What became of choosing a bead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picked {
    Chosen,
    /// Another claim for the same bead is under way here.
    Later,
}

impl ClaimJob {
    pub(super) fn is_next(&self) -> bool {
        matches!(self.op, Op::ClaimNext(_))
    }

    /// Whether the store and the refs should be looked at anew before it counts that nothing was found; true once.
    pub fn looks_again(&mut self) -> bool {
        !std::mem::replace(&mut self.exchanged, true)
    }

    pub fn waits(&self) -> bool {
        matches!(self.request.call, Call::Wait { .. })
    }
}

/// The claim in a call, its place among the operations, and whether its caller insists on the remote's word.
struct Asked<'a> {
    call: &'a Call,
    op: Op,
    index: usize,
    many: bool,
    confirm: bool,
}

/// Whether a call is a claim on its own, perhaps after a close.
pub(in crate::service) fn is_claim(call: &Call) -> bool {
    asked(call).is_some()
}

fn asked(call: &Call) -> Option<Asked<'_>> {
    match call {
        Call::Wait { call, .. } => asked(call),
        Call::Confirm { call } => asked(call).map(|asked| Asked { confirm: true, ..asked }),
        Call::Mutate(Mutate { ops, many, dry_run: false }) => match ops.as_slice() {
            [op @ (Op::Claim(_) | Op::ClaimNext(_))] => {
                Some(Asked { call, op: op.clone(), index: 0, many: *many, confirm: false })
            }
            [Op::Update(update)] => {
                let op = Op::Claim(update.as_claim()?);
                Some(Asked { call, op, index: 0, many: *many, confirm: false })
            }
            _ => None,
        },
        Call::CloseAndClaim { close, next } => {
            let op = Op::ClaimNext(next.clone());
            Some(Asked { call, op, index: close.len(), many: false, confirm: false })
        }
        _ => None,
    }
}

impl Service {
    /// The job of a request that has to ask the remote; `None` for every other one. Closings that come first are done.
    pub fn claim_job(&mut self, request: &Request) -> Option<Result<ClaimJob, Failure>> {
        let asked = asked(&request.call)?;
        let needs = match self.claim_needs(asked.confirm, request.offline) {
            Ok(Needs::Nothing) => return None,
            Ok(needs) => needs,
            Err(failure) => return Some(Err(failure)),
        };
        // Whatever is wrong with the request is reported by the ordinary way, and so is what was answered before.
        self.identify(request, asked.call).ok()?;
        if self.replica.has_receipt(&self.caller(request, asked.index)).unwrap_or(true)
            || self.is_renewal(request, &asked.op)
        {
            return None;
        }
        if let Err(failure) = self.admit(request, &asked.op) {
            return Some(Err(failure));
        }
        let output = self.settle(&request.output);
        let format_before = self.format_version();
        let closed = match self.close_first(request, asked.call, &output) {
            Ok(closed) => closed,
            Err(failure) => return Some(Err(failure)),
        };
        Some(Ok(ClaimJob {
            request: request.clone(),
            output,
            format_before,
            op: asked.op,
            index: asked.index,
            many: asked.many,
            closed,
            needs,
            confirm: asked.confirm,
            tried: BTreeSet::new(),
            tries: 0,
            attempt: None,
            exchanged: false,
        }))
    }

    /// Whether a waiting request is a claim that needs the remote's word, and there is a bead to try.
    pub fn can_try(&mut self, request: &Request) -> Option<bool> {
        let asked = asked(&request.call)?;
        if self.claim_needs(asked.confirm, request.offline).unwrap_or(Needs::Nothing) == Needs::Nothing {
            return None;
        }
        Some(!matches!(self.candidate(&asked.op, request, &BTreeSet::new()), Ok(None)))
    }

    /// A holder who claims again under a confirmed claim only renews its lease.
    fn is_renewal(&self, request: &Request, op: &Op) -> bool {
        let Op::Claim(claim) = op else { return false };
        let catalog = self.replica.catalog();
        let Ok(lineage) = catalog.resolve_any(&claim.id) else { return false };
        let holder = catalog.bead(lineage).and_then(|bead| bead.claim.holder(self.replica.now_ms()));
        holder == Some(&request.actor) && self.is_confirmed(lineage)
    }

    /// Refuses claims among other operations and changes where every claim needs the remote's word.
    pub(in crate::service) fn check_claims_of(&self, request: &Request, call: &Call) -> Result<(), Failure> {
        let ops = match call {
            // One on its own is a job.
            Call::Mutate(_) if is_claim(call) => return Ok(()),
            Call::Mutate(Mutate { ops, dry_run: false, .. }) => ops,
            Call::Atomic(atomic) => &atomic.ops,
            Call::Each(each) => &each.ops,
            _ => return Ok(()),
        };
        let claims = |op: &Op| match op {
            Op::Update(update) => update.claim,
            Op::Claim(_) | Op::ClaimNext(_) => !self.is_renewal(request, op),
            _ => false,
        };
        if !ops.iter().any(claims) || self.claim_needs(false, request.offline)? != Needs::Must {
            return Ok(());
        }
        let message = "with claim.scope remote a claim is a request of its own; nothing was changed";
        Err(Failure::invalid(message))
    }

    fn close_first(
        &mut self,
        request: &Request,
        call: &Call,
        output: &Output,
    ) -> Result<Option<Vec<Done>>, Failure> {
        let Call::CloseAndClaim { close, .. } = call else { return Ok(None) };
        let ops = close.iter().cloned().map(Op::Close).collect();
        let before = self.replica.position();
        let closed = self.mutate(request, &Mutate { ops, many: true, dry_run: false }, output.dialect);
        self.note_change(request, before);
        match closed? {
            Answer::Many(closed) => Ok(Some(closed)),
            _ => Err(Failure::internal("closing answered with something else")),
        }
    }

    /// The bead to try, if there is one.
    fn candidate(
        &mut self,
        op: &Op,
        request: &Request,
        tried: &BTreeSet<Lineage>,
    ) -> Result<Option<Lineage>, Failure> {
        match op {
            Op::ClaimNext(next) => {
                let mut next = next.clone();
                next.spread = Some(self.claim_refs.machine.clone());
                let now_ms = self.replica.now_ms();
                let catalog = self.replica.catalog();
                let candidates = next.candidates(catalog, &request.actor, now_ms, MAX_CANDIDATES)?;
                Ok(candidates.into_iter().find(|lineage| {
                    !tried.contains(lineage)
                        && !self.claim_refs.book.is_in_flight(lineage)
                        && !self.claim_refs.book.is_held_elsewhere(lineage, &SystemUptime.now())
                }))
            }
            Op::Claim(claim) => {
                // The very same checks as when it is made, so that nothing is asked of the remote in vain.
                let caller = self.caller(request, 0);
                let applied = self.replica.rehearse(&Op::Claim(claim.clone()), &caller)?;
                Ok(applied.bead)
            }
            _ => Ok(None),
        }
    }

    /// Chooses the bead that a job tries next and the value that it offers to the remote.
    pub fn pick(&mut self, job: &mut ClaimJob) -> Result<Picked, Failure> {
        job.tries += 1;
        if job.tries > MAX_TRIES {
            let message =
                format!("other machines were faster {MAX_TRIES} times in a row; nothing was claimed");
            return Err(Failure::new(Code::SyncContention, message));
        }
        let lineage = self.candidate(&job.op, &job.request, &job.tried)?;
        let lineage = lineage.ok_or_else(|| Failure::from(beads_core::Error::NothingReady))?;
        if self.claim_refs.book.is_in_flight(&lineage) {
            return Ok(Picked::Later);
        }
        let lease_ms = match &job.op {
            Op::Claim(claim) => claim.lease_ms,
            Op::ClaimNext(next) => next.lease_ms,
            _ => None,
        };
        let lease_ms = lease_ms.unwrap_or_else(|| millis(self.config().duration("claim.lease")));
        let book = &mut self.claim_refs.book;
        job.attempt = Some(book.begin(&mut self.replica, lineage, &job.request.actor, lease_ms)?);
        // Before anything is asked of the remote.
        self.claim_refs.save();
        Ok(Picked::Chosen)
    }
}

impl ClaimJob {
    /// The operation that puts the claim into the store, under the fence that the ref names.
    pub(super) fn op_of(&self, attempt: &Attempt, id: String) -> Op {
        let at = (!attempt.existing).then_some(attempt.record.fence);
        let lease_ms = Some(attempt.record.lease_ms);
        match &self.op {
            Op::Claim(claim) => Op::Claim(ClaimBead { at, ..claim.clone() }),
            _ => Op::Claim(ClaimBead { id, lease_ms, at, ..ClaimBead::default() }),
        }
    }
}
