use std::collections::VecDeque;
use std::sync::Arc;

use beads_core::import::{Decision, Plan, Summary};
use beads_core::{Catalog, Claim, Delta, Lineage, State};
use beads_store::Caller;
use serde_json::Value;

use super::Service;
use super::import_source::read;
use super::reader::Indexes;
use crate::failure::Failure;
use crate::render::{Answer, ImportAnswer};
use crate::request::{Call, ImportSource, Reply, Request};

/// About so many bytes of an import are taken in at a time, so that other clients wait for no more than that.
const PART_BYTES: usize = 1024 * 1024;

/// An import to be read, in any thread, with a snapshot to compare it with.
#[derive(Debug)]
pub struct ImportJob {
    source: ImportSource,
    state: State,
    indexes: Arc<Indexes>,
}

impl ImportJob {
    /// Reads and parses the files, and decides about every line.
    pub fn read(self) -> Result<ReadImport, Failure> {
        let import = read(&self.source)?;
        Ok(import.plan(&self.indexes.of(self.state)).into())
    }
}

/// An import about whose lines everything is decided. What remains is to take its beads in.
#[derive(Debug)]
pub struct ReadImport {
    parts: VecDeque<Delta>,
    leases: Vec<(Lineage, Claim)>,
    summary: Summary,
    decisions: Vec<Decision>,
    /// The position and the format of the store before the first part was taken in.
    began: Option<(u64, u64)>,
}

impl From<Plan> for ReadImport {
    fn from(plan: Plan) -> Self {
        let Plan { delta, leases, summary, mut decisions } = plan;
        decisions.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        let parts = if delta.is_empty() { Vec::new() } else { delta.split(PART_BYTES) };
        Self { parts: parts.into(), leases, summary, decisions, began: None }
    }
}

impl Service {
    /// Reads a foreign store and joins it, in one commit of the journal.
    pub(super) fn import(&mut self, request: &Request, source: &ImportSource) -> Result<Answer, Failure> {
        if let Some(answer) = self.told_of_import(request)? {
            return Ok(answer);
        }
        let mut import = read(source)?.plan(self.replica.catalog()).into();
        loop {
            if let Some(answer) = self.take_part(request, &mut import)? {
                return Ok(answer);
            }
        }
    }

    /// Sets a snapshot aside for an import, which is read elsewhere. One that is asked for again has its answer.
    pub fn begin_import(&mut self, request: &Request) -> Result<ImportJob, Box<Reply>> {
        let told = request.call.check_paths().and_then(|()| {
            self.identify(request, &request.call)?;
            self.told_of_import(request)
        });
        let result = match (told, &request.call) {
            (Ok(None), Call::Import { source, .. }) => {
                let (state, indexes) = (self.replica.catalog().state().clone(), self.indexes.clone());
                return Ok(ImportJob { source: source.clone(), state, indexes });
            }
            (Ok(Some(answer)), _) => Ok(answer),
            (Ok(None), _) => Err(Failure::internal("this call imports nothing")),
            (Err(failure), _) => Err(failure),
        };
        let (output, format) = (self.settle(&request.output), self.format_version());
        Err(Box::new(self.reply_to(request, result, &output, format)))
    }

    /// Takes the next part of an import in. Returns the answer when it was the last; like any other, it must not leave before
    /// [`commit`](Self::commit).
    pub fn continue_import(
        &mut self,
        request: &Request,
        import: &mut Result<ReadImport, Failure>,
    ) -> Option<Reply> {
        let now = (self.replica.position(), self.format_version());
        let (before, format) = match import {
            Ok(import) => *import.began.get_or_insert(now),
            Err(_) => now,
        };
        let taken = match import {
            Ok(import) => {
                self.identify(request, &request.call).and_then(|()| self.take_part(request, import))
            }
            Err(failure) => Err(failure.clone()),
        };
        self.note_change(request, now.0);
        let result = taken.transpose()?;
        self.note_local_only(request, before);
        let output = self.settle(&request.output);
        Some(self.reply_to(request, result, &output, format))
    }

    /// The answer to an import that was done before under the same request id.
    fn told_of_import(&self, request: &Request) -> Result<Option<Answer>, Failure> {
        if matches!(request.call, Call::Import { dry_run: true, .. }) {
            return Ok(None);
        }
        let summary = self.told(&self.caller(request, 0))?;
        Ok(summary.map(|summary| Answer::Imported(Box::new(ImportAnswer { summary, decisions: None }))))
    }

    /// `None` while there are more parts.
    fn take_part(&mut self, request: &Request, import: &mut ReadImport) -> Result<Option<Answer>, Failure> {
        let Call::Import { source, dry_run, decisions, input, .. } = &request.call else {
            return Err(Failure::internal("this call imports nothing"));
        };
        // The same request may have come twice, and the other one was faster.
        if let Some(answer) = self.told_of_import(request)? {
            return Ok(Some(answer));
        }
        import.summary.dry_run = *dry_run;
        import.summary.found.clone_from(&input.found);
        import.summary.warnings.clone_from(&input.warnings);
        if !dry_run {
            let caller = self.caller(request, 0);
            let part = import.parts.pop_front().unwrap_or_default();
            if !import.parts.is_empty() {
                let nameless = Caller { request: None, ..caller };
                self.replica.absorb(part, &[], &nameless, &Value::Null)?;
                return Ok(None);
            }
            let catalog = self.replica.catalog();
            import.leases.retain(|(lineage, claim)| still_stands(catalog, lineage, claim));
            let told = serde_json::to_value(&import.summary).map_err(Failure::internal)?;
            self.replica.absorb(part, &import.leases, &caller, &told)?;
            if let ImportSource::Jsonl { path, copy_of: None, .. } = source {
                self.expect_clients(path)?;
            }
        }
        let decisions = decisions.then(|| std::mem::take(&mut import.decisions));
        let answer = ImportAnswer { summary: import.summary.clone(), decisions };
        Ok(Some(Answer::Imported(Box::new(answer))))
    }
}

/// Whether a claim of an import is the one that its bead has, or will have once it is taken in. The bead may have been claimed
/// here while the import was read, and that claim has its own lease.
fn still_stands(catalog: &Catalog, lineage: &Lineage, claim: &Claim) -> bool {
    catalog
        .bead(lineage)
        .is_none_or(|known| known.claim.mark <= claim.mark && known.claim.expires_mark <= claim.expires_mark)
}
