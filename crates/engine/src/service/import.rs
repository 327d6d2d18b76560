use std::collections::VecDeque;
use std::sync::Arc;

use beads_core::import::{Decision, Plan, Summary};
use beads_core::{Catalog, Claim, Delta, Lineage, State};
use beads_store::Caller;
use beads_store::progress::{Meter, Step, Watched};
use serde_json::Value;

use super::Service;
use super::import_source::read;
use super::indexes::Indexes;
use crate::failure::Failure;
use crate::render::{Answer, ImportAnswer};
use crate::request::{Call, ImportSource, Reply, Request};

/// The approximate size of the parts in which an import is applied. Other clients wait for one part at most.
const PART_BYTES: usize = 1024 * 1024;

/// The running import. If there are several, the last one to record its position.
pub static IMPORT: Meter = Meter::new();

/// An import to read, in any thread, with a snapshot to compare it with.
#[derive(Debug)]
pub struct ImportJob {
    source: ImportSource,
    state: State,
    indexes: Arc<Indexes>,
    watched: Watched,
}

impl ImportJob {
    /// Reads and parses the files, and decides what to do with every line.
    pub fn read(self) -> Result<ReadImport, Failure> {
        let import = read(&self.source)?;
        Ok(ReadImport::new(import.plan(&self.indexes.of(self.state)), self.watched))
    }
}

/// An import that has been read and planned. Its parts remain to be applied.
#[derive(Debug)]
pub struct ReadImport {
    parts: VecDeque<Delta>,
    leases: Vec<(Lineage, Claim)>,
    summary: Summary,
    decisions: Vec<Decision>,
    /// The position and the format version of the store before the first part.
    began: Option<(u64, u64)>,
    /// The number of parts.
    total: usize,
    _watched: Watched,
}

impl ReadImport {
    fn new(plan: Plan, watched: Watched) -> Self {
        let Plan { delta, leases, summary, mut decisions } = plan;
        decisions.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        let parts = if delta.is_empty() { Vec::new() } else { delta.split(PART_BYTES) };
        let total = parts.len();
        Self { parts: parts.into(), leases, summary, decisions, began: None, total, _watched: watched }
    }

    /// Takes the next part to apply.
    fn next_part(&mut self) -> Delta {
        let applied = self.total - self.parts.len();
        IMPORT.record(Step::Applying, applied as u64, self.total as u64);
        self.parts.pop_front().unwrap_or_default()
    }
}

impl Service {
    /// Reads and applies an import, in one commit of the journal.
    pub(super) fn import(&mut self, request: &Request, source: &ImportSource) -> Result<Answer, Failure> {
        if let Some(answer) = self.cached_import_answer(request)? {
            return Ok(answer);
        }
        let watched = IMPORT.watch();
        let mut import = ReadImport::new(read(source)?.plan(self.replica.catalog()), watched);
        loop {
            if let Some(answer) = self.apply_part(request, &mut import)? {
                return Ok(answer);
            }
        }
    }

    /// Takes a snapshot for an import, which another thread reads. Returns the reply instead if the request
    /// is a retry or invalid.
    pub fn begin_import(&mut self, request: &Request) -> Result<ImportJob, Box<Reply>> {
        let cached = request.call.check_paths().and_then(|()| {
            self.identify(request, &request.call)?;
            self.cached_import_answer(request)
        });
        let result = match (cached, &request.call) {
            (Ok(None), Call::Import { source, .. }) => {
                let (state, indexes) = (self.replica.catalog().state().clone(), self.indexes.clone());
                let watched = IMPORT.watch();
                return Ok(ImportJob { source: source.clone(), state, indexes, watched });
            }
            (Ok(Some(answer)), _) => Ok(answer),
            (Ok(None), _) => Err(Failure::internal("not an import")),
            (Err(failure), _) => Err(failure),
        };
        let (output, format) = (self.resolve_dialect(&request.output), self.format_version());
        Err(Box::new(self.reply_to(request, result, &output, format)))
    }

    /// Applies the next part of an import. Returns the reply after the last part; it must not be sent before
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
                self.identify(request, &request.call).and_then(|()| self.apply_part(request, import))
            }
            Err(failure) => Err(failure.clone()),
        };
        self.note_change(request, now.0);
        let result = taken.transpose()?;
        self.note_local_only(request, before);
        let output = self.resolve_dialect(&request.output);
        Some(self.reply_to(request, result, &output, format))
    }

    /// Returns the answer to an earlier import with the same request id.
    fn cached_import_answer(&self, request: &Request) -> Result<Option<Answer>, Failure> {
        if matches!(request.call, Call::Import { dry_run: true, .. }) {
            return Ok(None);
        }
        let summary = self.cached_answer(&self.caller(request, 0))?;
        Ok(summary.map(|summary| Answer::Imported(Box::new(ImportAnswer { summary, decisions: None }))))
    }

    /// Applies the next part. Returns `None` while there are more.
    fn apply_part(&mut self, request: &Request, import: &mut ReadImport) -> Result<Option<Answer>, Failure> {
        let Call::Import { source, dry_run, decisions, input, .. } = &request.call else {
            return Err(Failure::internal("not an import"));
        };
        // A retry of the same request may have finished first.
        if let Some(answer) = self.cached_import_answer(request)? {
            return Ok(Some(answer));
        }
        import.summary.dry_run = *dry_run;
        import.summary.found.clone_from(&input.found);
        import.summary.warnings.clone_from(&input.warnings);
        if !dry_run {
            let caller = self.caller(request, 0);
            let batch = import.next_part();
            if !import.parts.is_empty() {
                let anonymous = Caller { request: None, ..caller };
                self.replica.absorb(batch, &[], &anonymous, &Value::Null)?;
                return Ok(None);
            }
            let catalog = self.replica.catalog();
            import.leases.retain(|(lineage, claim)| is_still_current(catalog, lineage, claim));
            let cached = serde_json::to_value(&import.summary).map_err(Failure::internal)?;
            self.replica.absorb(batch, &import.leases, &caller, &cached)?;
            if let ImportSource::Jsonl { path, copy_of: None, .. } = source {
                self.adopt_compat_dialect(path)?;
            }
        }
        let decisions = decisions.then(|| std::mem::take(&mut import.decisions));
        let answer = ImportAnswer { summary: import.summary.clone(), decisions };
        Ok(Some(Answer::Imported(Box::new(answer))))
    }
}

/// Returns whether an imported claim is the one that its bead will have. The bead may have been claimed here
/// while the import was read, and that claim has its own lease.
fn is_still_current(catalog: &Catalog, lineage: &Lineage, claim: &Claim) -> bool {
    catalog
        .bead(lineage)
        .is_none_or(|known| known.claim.mark <= claim.mark && known.claim.expires_mark <= claim.expires_mark)
}
