use std::borrow::Cow;

use beads_core::op::{ClaimNext, Close};
use beads_core::{Applied, BeadView, Evidence, MEMORY, Op};
use serde_json::json;

use super::Service;
use crate::dialect::Dialect;
use crate::failure::{Code, Failure};
use crate::place::Kind;
use crate::render::{
    Answer, Brief, ClosedAndClaimed, Done, EdgeAnswer, PartlyAnswer, Similar, Unblocked, WarningAnswer, shown,
};
use crate::request::{Each, Mutate, Request};

impl Service {
    /// Applies independent mutations. It is an error if one fails.
    pub(super) fn mutate(
        &mut self,
        request: &Request,
        mutate: &Mutate,
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        match self.mutate_partly(request, mutate, dialect)? {
            Answer::Partly(partly) => Err(partly.failure),
            answer => Ok(answer),
        }
    }

    /// Applies independent mutations. If some of them fail, the answer is [`Answer::Partly`].
    pub(super) fn mutate_partly(
        &mut self,
        request: &Request,
        mutate: &Mutate,
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let mut done = Vec::new();
        let mut failed = Vec::new();
        for (index, op) in mutate.ops.iter().enumerate() {
            match self.apply_one(request, op, index, mutate.dry_run) {
                Ok(answer) => done.push(answer),
                Err(failure) => failed.push((op.subject(), failure)),
            }
        }
        match failed.len() {
            0 if mutate.many => Ok(Answer::Many(done)),
            0 => done
                .pop()
                .map(|one| Answer::One(Box::new(one)))
                .ok_or_else(|| Failure::usage("nothing to do")),
            1 if mutate.ops.len() == 1 => Err(failed.remove(0).1),
            _ => partly(done, &failed, dialect),
        }
    }

    /// Applies independent mutations and answers each one separately.
    pub(super) fn each(&mut self, request: &Request, each: &Each) -> Answer {
        let one = |(index, op)| self.apply_one(request, op, each.first + index, each.dry_run).into();
        Answer::Each(each.ops.iter().enumerate().map(one).collect())
    }

    /// Applies one operation. `index` is its index under the request id.
    fn apply_one(
        &mut self,
        request: &Request,
        op: &Op,
        index: usize,
        dry_run: bool,
    ) -> Result<Done, Failure> {
        let caller = self.caller(request, index);
        if let Op::Close(close) = op {
            self.check_commits(close)?;
        }
        if let Op::Restore(restore) = op
            && !dry_run
        {
            self.thaw(&restore.id)?;
        }
        if dry_run {
            let applied = self.replica.dry_run(op, &caller)?;
            let mut catalog = self.replica.catalog().clone();
            catalog.join_delta(&applied.delta)?;
            return done(&catalog, op, &applied, true);
        }
        let op = self.with_current_fence(op);
        if !self.replica.has_receipt(&caller)? {
            self.admit(request, &op)?;
        }
        let applied = self.replica.apply(&self.spread(&op), &caller)?;
        let op = op.as_ref();
        if let Some(lineage) = &applied.bead {
            self.note_claim(request, op, lineage, applied.fence);
        }
        let mut done = done(self.replica.catalog(), op, &applied, false)?;
        if let Some(lineage) = applied.bead.as_ref().filter(|_| done.fence.is_some()) {
            done.confirm(self.is_confirmed(lineage));
        }
        Ok(done)
    }

    /// While other machines are active, makes each machine try beads of the same priority in a different
    /// order.
    fn spread<'a>(&self, op: &'a Op) -> Cow<'a, Op> {
        let mut op = Cow::Borrowed(op);
        if matches!(*op, Op::ClaimNext(_))
            && self.others_are_active()
            && let Op::ClaimNext(next) = op.to_mut()
        {
            next.spread = Some(self.claim_refs.machine.clone());
        }
        op
    }

    /// Checks that commits given as evidence exist in the repository, if the store has one.
    fn check_commits(&self, close: &Close) -> Result<(), Failure> {
        if self.place.kind != Kind::Repository {
            return Ok(());
        }
        let repository = self.repository.inner();
        match close.evidence.iter().filter_map(Evidence::commit).find(|commit| !repository.has_commit(commit))
        {
            None => Ok(()),
            Some(commit) => {
                let message = format!("there is no commit {commit} in this repository; nothing was changed");
                Err(Failure::invalid(message).with(json!({"field": "evidence", "commit": commit})))
            }
        }
    }

    /// Closes beads and, if that succeeded, claims the next one. It is not an error if there is none.
    pub(super) fn close_and_claim(
        &mut self,
        request: &Request,
        close: &[Close],
        next: &ClaimNext,
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let ops = close.iter().cloned().map(Op::Close).collect();
        let mutate = Mutate { ops, many: true, dry_run: false };
        let closed = match self.mutate_partly(request, &mutate, dialect)? {
            Answer::Many(closed) => closed,
            other => return Ok(other),
        };
        let claimed =
            match self.apply_one(request, &Op::ClaimNext(Box::new(next.clone())), close.len(), false) {
                Ok(claimed) => Some(Box::new(claimed)),
                Err(failure) if failure.code == Code::NothingReady => None,
                Err(failure) => {
                    return Err(failure.with(json!({"closed": shown(&Answer::Many(closed), dialect)})));
                }
            };
        Ok(Answer::ClosedAndClaimed(ClosedAndClaimed { closed, claimed }))
    }

    /// Closes the epics whose children are all closed.
    pub(super) fn close_eligible_epics(
        &mut self,
        request: &Request,
        dry_run: bool,
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let catalog = self.replica.catalog();
        let eligible = catalog.epics().into_iter().filter(|epic| epic.eligible_for_close);
        let reason: beads_core::Text = "all children closed".parse()?;
        let close = |id: String| Op::Close(Close { id, reason: reason.clone(), ..Close::default() });
        let ops = eligible.map(|epic| close(catalog.id_of(&epic.lineage).to_string())).collect();
        self.mutate(request, &Mutate { ops, many: true, dry_run }, dialect)
    }
}

/// Returns the answer to an operation, read from the catalog right after it.
pub(super) fn done(
    catalog: &beads_core::Catalog,
    op: &Op,
    applied: &Applied,
    dry_run: bool,
) -> Result<Done, Failure> {
    let bead = applied.bead.as_ref().and_then(|lineage| catalog.view(lineage));
    let edge = applied.edge.as_ref().and_then(|key| EdgeAnswer::of(catalog, key, op.participle()));
    let brief = matches!(op, Op::Claim(_) | Op::ClaimNext(_))
        .then(|| Some(Brief::of(catalog, applied.bead.as_ref()?, bead.as_ref()?)))
        .flatten();
    let unblocked = applied.unblocked.iter().filter_map(|lineage| {
        let row = catalog.row(lineage)?.facts;
        Some(Unblocked { id: row.id, title: row.title, priority: row.priority })
    });
    let similar = match op {
        Op::Create(create) if create.kind.as_str() != MEMORY => {
            catalog.similar(&create.title, applied.bead.as_ref())
        }
        _ => Vec::new(),
    };
    let similar = similar.iter().filter_map(|lineage| {
        let row = catalog.row(lineage)?.facts;
        Some(Similar { id: row.id, title: row.title, status: row.status })
    });
    let warnings = applied.bead.iter().flat_map(|lineage| {
        applied.warnings.iter().map(|warning| WarningAnswer::of(catalog.id_of(lineage), warning))
    });
    Ok(Done {
        verb: op.participle(),
        warnings: warnings.collect(),
        next: matches!(op, Op::ClaimNext(_)),
        edge,
        asked: abbreviation(op, bead.as_ref()),
        unchanged: applied.unchanged,
        note: applied.note.clone(),
        renewed: applied.renewed,
        confirmed: None,
        fence: applied.fence,
        brief,
        unblocked: unblocked.collect(),
        similar: similar.collect(),
        bead,
        dry_run,
    })
}

/// Returns what the caller wrote for the bead, if that is not its full id.
fn abbreviation(op: &Op, bead: Option<&BeadView>) -> Option<String> {
    let named = match op {
        Op::Create(_) | Op::ClaimNext(_) => return None,
        op => op.subject(),
    };
    bead.filter(|bead| bead.id.as_str() != named).map(|_| named)
}

/// Returns the answer to a request of which at least one operation failed.
fn partly(
    done: Vec<Done>,
    failed: &[(String, Failure)],
    dialect: Option<Dialect>,
) -> Result<Answer, Failure> {
    let each: Vec<_> = failed.iter().map(|(id, failure)| format!("{id}: {}", failure.message)).collect();
    let all = done.len() + failed.len();
    let failures: Vec<_> = failed
        .iter()
        .map(|(id, failure)| json!({"id": id, "code": failure.code, "message": failure.message}))
        .collect();
    let (is_partly, done) = (!done.is_empty(), Answer::Many(done));
    let message = format!("{} of {all} failed: {}", failed.len(), each.join("; "));
    let failure = Failure::new(Code::PartialFailure, message)
        .with(json!({"succeeded": shown(&done, dialect), "failed": failures}));
    if is_partly { Ok(Answer::Partly(Box::new(PartlyAnswer { done, failure }))) } else { Err(failure) }
}
