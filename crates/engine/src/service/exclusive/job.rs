//! A claim in progress: chooses the bead to try next and the fence.

use std::collections::BTreeSet;

use beads_core::op::ClaimBead;
use beads_core::{Lineage, Op};
use beads_store::{Attempt, SteadyClock, SystemUptime};

use super::scope::Needs;
use crate::failure::{Code, Failure};
use crate::render::{Answer, Done};
use crate::request::{Call, Mutate, Output, Request};
use crate::service::{Service, millis};

/// The maximum number of candidates that `claim --next` considers.
const MAX_CANDIDATES: usize = 256;

/// The maximum number of attempts before a claim fails because other machines were faster.
const MAX_TRIES: usize = 64;

/// A claim that the remote decides.
#[derive(Debug)]
pub struct ClaimJob {
    /// The request that makes the claim.
    pub request: Request,
    pub(super) output: Output,
    pub(super) format_before: u64,
    /// `Op::Claim` or `Op::ClaimNext`.
    pub(super) op: Op,
    /// Its index among the operations of the request.
    pub(super) index: usize,
    /// Whether the answer is an array.
    pub(super) many: bool,
    /// What the same request has already closed.
    pub(super) closed: Option<Vec<Done>>,
    pub(super) needs: Needs,
    pub(super) confirm: bool,
    pub(super) tried: BTreeSet<Lineage>,
    pub(super) tries: usize,
    pub(super) attempt: Option<Attempt>,
    /// The remote was already fetched for this claim, so the candidates are up to date.
    pub(super) exchanged: bool,
    /// Whether the hub decides the claim.
    pub(super) via_hub: bool,
}

/// The result of choosing a bead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picked {
    /// A bead was chosen.
    Chosen,
    /// Another claim of this process is trying the same bead.
    Later,
}

impl ClaimJob {
    pub(super) fn is_next(&self) -> bool {
        matches!(self.op, Op::ClaimNext(_))
    }

    /// Returns whether the remote should be fetched before the claim fails because nothing is ready. True
    /// only the first time.
    pub fn take_refetch(&mut self) -> bool {
        !std::mem::replace(&mut self.exchanged, true)
    }

    /// Returns whether the hub decides the claim.
    pub fn is_via_hub(&self) -> bool {
        self.via_hub
    }

    /// Returns the operation that makes the claim.
    pub fn op(&self) -> &Op {
        &self.op
    }

    /// Returns whether any ready bead will do.
    pub fn is_for_next(&self) -> bool {
        self.is_next()
    }

    /// Returns whether a bead was tried before.
    pub fn has_tried(&self, lineage: &Lineage) -> bool {
        self.tried.contains(lineage)
    }

    /// Records that beads were tried.
    pub fn note_tried(&mut self, beads: impl IntoIterator<Item = Lineage>) {
        self.tried.extend(beads);
    }

    /// Decides the claim without the hub from now on.
    pub fn leave_hub(&mut self) {
        (self.via_hub, self.needs) = (false, Needs::Try);
    }

    /// Returns whether the request waits for a bead.
    pub fn waits(&self) -> bool {
        matches!(self.request.call, Call::Wait { .. })
    }
}

/// The claim in a call, its index among the operations, and whether the caller requires the remote's
/// confirmation.
struct SingleClaim<'a> {
    call: &'a Call,
    op: Op,
    index: usize,
    many: bool,
    confirm: bool,
}

/// Returns whether a call is a single claim, possibly after a close.
pub(in crate::service) fn is_claim(call: &Call) -> bool {
    single_claim(call).is_some()
}

/// Returns the claim in a call that is a single claim.
fn single_claim(call: &Call) -> Option<SingleClaim<'_>> {
    match call {
        Call::Wait { call, .. } => single_claim(call),
        Call::Confirm { call } => single_claim(call).map(|claim| SingleClaim { confirm: true, ..claim }),
        Call::Mutate(Mutate { ops, many, dry_run: false }) => match ops.as_slice() {
            [op @ (Op::Claim(_) | Op::ClaimNext(_))] => {
                Some(SingleClaim { call, op: op.clone(), index: 0, many: *many, confirm: false })
            }
            [Op::Update(update)] => {
                let op = Op::Claim(update.as_claim()?);
                Some(SingleClaim { call, op, index: 0, many: *many, confirm: false })
            }
            _ => None,
        },
        Call::CloseAndClaim { close, next } => {
            let op = Op::ClaimNext(next.clone());
            Some(SingleClaim { call, op, index: close.len(), many: false, confirm: false })
        }
        _ => None,
    }
}

impl Service {
    /// Returns the job of a claim that the remote decides; `None` for every other request. Beads that the
    /// request closes first are closed.
    pub fn claim_job(&mut self, request: &Request) -> Option<Result<ClaimJob, Failure>> {
        let claim = single_claim(&request.call)?;
        let via_hub = match self.hub_decides(claim.confirm, request.offline) {
            Ok(via_hub) => via_hub,
            Err(failure) => return Some(Err(failure)),
        };
        let needs = match self.claim_needs(claim.confirm, request.offline) {
            _ if via_hub => Needs::Must,
            Ok(Needs::Nothing) => return None,
            Ok(needs) => needs,
            Err(failure) => return Some(Err(failure)),
        };
        // The ordinary path reports invalid requests and repeats earlier answers.
        self.identify(request, claim.call).ok()?;
        if self.replica.has_receipt(&self.caller(request, claim.index)).unwrap_or(true)
            || self.is_renewal(request, &claim.op)
        {
            return None;
        }
        if let Err(failure) = self.admit(request, &claim.op) {
            return Some(Err(failure));
        }
        let output = self.resolve_dialect(&request.output);
        let format_before = self.format_version();
        let closed = match self.close_first(request, claim.call, &output) {
            Ok(closed) => closed,
            Err(failure) => return Some(Err(failure)),
        };
        Some(Ok(ClaimJob {
            request: request.clone(),
            output,
            format_before,
            op: claim.op,
            index: claim.index,
            many: claim.many,
            closed,
            needs,
            confirm: claim.confirm,
            tried: BTreeSet::new(),
            tries: 0,
            attempt: None,
            exchanged: false,
            via_hub,
        }))
    }

    /// Returns `None` unless a waiting request is a claim that the remote decides, and otherwise whether
    /// there is a bead to try.
    pub fn can_try(&mut self, request: &Request) -> Option<bool> {
        let claim = single_claim(&request.call)?;
        let via_hub = self.hub_decides(claim.confirm, request.offline).unwrap_or(false);
        let needs = self.claim_needs(claim.confirm, request.offline).unwrap_or(Needs::Nothing);
        if !via_hub && needs == Needs::Nothing {
            return None;
        }
        Some(!matches!(self.candidate(&claim.op, request, &BTreeSet::new()), Ok(None)))
    }

    /// Returns whether a claim only renews the lease of a confirmed claim of the same holder. With a hub, it must
    /// have been granted to this machine: an actor of the same name on another machine has a claim of its own.
    fn is_renewal(&self, request: &Request, op: &Op) -> bool {
        let Op::Claim(claim) = op else { return false };
        let catalog = self.replica.catalog();
        let Ok(lineage) = catalog.resolve_any(&claim.id) else { return false };
        let Some(bead) = catalog.bead(lineage) else { return false };
        let is_own = self.hub.as_ref().is_none_or(|hub| hub.is_own(lineage, bead));
        let holder = bead.claim.holder(self.replica.lease_now_ms());
        holder == Some(&request.actor) && is_own && self.is_confirmed(lineage)
    }

    /// Rejects claims in a request with other operations, if every claim needs the remote's confirmation.
    pub(in crate::service) fn check_claims_of(&self, request: &Request, call: &Call) -> Result<(), Failure> {
        let ops = match call {
            // A single claim is a `ClaimJob`.
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
        if !ops.iter().any(claims) {
            return Ok(());
        }
        if self.hub_decides(false, request.offline)? {
            let message = "with a hub, a claim must be a separate request; nothing was changed";
            return Err(Failure::invalid(message));
        }
        if self.claim_needs(false, request.offline)? != Needs::Must {
            return Ok(());
        }
        let message = "with claim.scope remote, a claim must be a separate request; nothing was changed";
        Err(Failure::invalid(message))
    }

    /// Closes the beads of a `CloseAndClaim`.
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
            _ => Err(Failure::internal("unexpected answer to a close")),
        }
    }

    /// Returns the bead to try, if there is one.
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
                let now_ms = self.replica.lease_now_ms();
                let catalog = self.replica.catalog();
                let candidates = next.candidates(catalog, &request.actor, now_ms, MAX_CANDIDATES)?;
                Ok(candidates.into_iter().find(|lineage| {
                    !tried.contains(lineage)
                        && !self.claim_refs.book.is_in_flight(lineage)
                        && !self.claim_refs.book.is_held_elsewhere(lineage, &SystemUptime.now())
                }))
            }
            Op::Claim(claim) => {
                // The same checks as for the claim itself, so that the remote is not contacted for nothing.
                let caller = self.caller(request, 0);
                let applied = self.replica.dry_run(&Op::Claim(claim.clone()), &caller)?;
                Ok(applied.bead)
            }
            _ => Ok(None),
        }
    }

    /// Chooses the bead that a job tries next, and the value to push to its ref.
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
        let lease_ms = self.lease_of(job);
        let book = &mut self.claim_refs.book;
        job.attempt = Some(book.begin(&mut self.replica, lineage, &job.request.actor, lease_ms)?);
        // Saved before the remote is contacted, so that a crash cannot lose a ref that was won.
        self.claim_refs.save();
        Ok(Picked::Chosen)
    }

    /// Returns the length of the lease that a job asks for.
    pub(in crate::service) fn lease_of(&self, job: &ClaimJob) -> u64 {
        let lease_ms = match &job.op {
            Op::Claim(claim) => claim.lease_ms,
            Op::ClaimNext(next) => next.lease_ms,
            _ => None,
        };
        lease_ms.unwrap_or_else(|| millis(self.config().duration("claim.lease")))
    }
}

impl ClaimJob {
    /// Returns the operation that records the claim in the store, under the fence that the ref names.
    pub(super) fn op_of(&self, attempt: &Attempt, id: String) -> Op {
        let at = (!attempt.existing).then_some(attempt.record.fence);
        let lease_ms = Some(attempt.record.lease_ms);
        match &self.op {
            Op::Claim(claim) => Op::Claim(ClaimBead { at, ..claim.clone() }),
            _ => Op::Claim(ClaimBead { id, lease_ms, at, ..ClaimBead::default() }),
        }
    }
}
