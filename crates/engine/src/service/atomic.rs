use std::collections::BTreeMap;

use beads_core::{Applied, BeadId, Catalog, Op};
use beads_store::Batch;
use serde_json::json;

use super::Service;
use super::mutate::done;
use crate::failure::{Code, Failure};
use crate::render::{Answer, BatchAnswer};
use crate::request::{Atomic, Request};

impl Service {
    /// Applies all operations, or none of them.
    pub(super) fn atomic(&mut self, request: &Request, atomic: &Atomic) -> Result<Answer, Failure> {
        if atomic.ops.is_empty() {
            return Err(Failure::usage("nothing to do"));
        }
        let caller = self.caller(request, 0);
        let batch = Batch { ops: &atomic.ops, names: &atomic.names };
        let answer = if atomic.dry_run {
            self.replica.dry_run_all(batch, &caller, |catalog, applied| show(catalog, atomic, applied))
        } else {
            if !self.replica.has_receipt(&caller)? {
                atomic.ops.iter().try_for_each(|op| self.admit(request, op))?;
            }
            let applied = self.replica.apply_all(batch, &caller);
            for (op, applied) in atomic.ops.iter().zip(applied.iter().flatten()) {
                if let Some(lineage) = &applied.bead {
                    self.note_claim(request, op, lineage, applied.fence);
                }
            }
            applied.map(|applied| show(self.replica.catalog(), atomic, &applied))
        };
        answer.map_err(|error| with_operation(atomic, error))?.map(Answer::Batch)
    }
}

/// Builds the answer from the catalog after all operations, so that every bead has its edges.
fn show(catalog: &Catalog, atomic: &Atomic, applied: &[Applied]) -> Result<BatchAnswer, Failure> {
    let results =
        atomic.ops.iter().zip(applied).map(|(op, applied)| done(catalog, op, applied, atomic.dry_run));
    let id = |index: &usize| Some(catalog.id_of(applied.get(*index)?.bead.as_ref()?).clone());
    let ids: BTreeMap<String, BeadId> =
        atomic.names.iter().filter_map(|(name, index)| Some((name.clone(), id(index)?))).collect();
    Ok(BatchAnswer { ids, results: results.collect::<Result<_, Failure>>()? })
}

/// Adds to an error which operation failed. A missing bead needs no such text if all operations are about one bead, as
/// in `bd wait`.
fn with_operation(atomic: &Atomic, error: beads_store::Error) -> Failure {
    let beads_store::Error::Batch { index, source } = error else { return error.into() };
    let subject = atomic.ops.get(index).map(Op::subject).unwrap_or_default();
    let cause = Failure::from(*source);
    let is_about_one = atomic.ops.iter().all(|op| op.subject() == subject);
    let operation = match cause.code {
        Code::NotFound if is_about_one => String::new(),
        _ => format!("operation {} ({subject}): ", index + 1),
    };
    let message = format!("{operation}{}; nothing was changed", cause.message);
    Failure::new(cause.code, message).with(json!({"index": index, "details": cause.details}))
}
