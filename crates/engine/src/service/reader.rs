//! Answers queries from a catalog: the store's own, or a snapshot in another thread.

use std::sync::Arc;

use beads_core::{BeadView, Catalog, Lineage, Stamp, State, Status, Timestamp};

use super::Service;
use super::archive::{ArchiveCopy, is_about_the_past};
use super::archived::{is_about_archived, query_archived};
use super::import_source::compare_file;
use super::indexes::Indexes;
use super::repair::repair_plan;
use super::row_cache::RowCache;
use super::sessions::Sessions;
use super::status::StatusFacts;
use crate::failure::{Code, Failure};
use crate::place::Place;
use crate::render::{self, Answer};
use crate::request::{Call, ClaimOver, Format, Output, Query, Reply, Request};

/// In a store with more beads than this, a query about all beads is answered from a snapshot, so that it does
/// not delay other requests.
const LONG_BEADS: usize = 2_000;

/// A list of at most this many beads is short, however large the store is.
const SHORT_LIST: usize = 200;

/// The beads at one point in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) now_ms: u64,
    /// Tells which claims have silent sessions.
    pub(super) sessions: &'a Sessions,
    /// Rows that were rendered before, in a daemon.
    pub(super) rows: Option<&'a RowCache>,
}

impl Reader<'_> {
    /// Returns whether the session that holds a bead with this fence is silent.
    pub(super) fn is_silent(&self, lineage: &Lineage, fence: Option<Stamp>) -> bool {
        self.sessions.silent_since(lineage, fence, self.now_ms).is_some()
    }

    /// Adds since when the session that holds a bead has been silent, and whether its lease has ended.
    pub(super) fn note_silence(&self, lineage: &Lineage, view: &mut BeadView) {
        let held = view.facts.status == Status::InProgress;
        let fence = view.facts.assignee_at.filter(|_| held);
        let since = fence.and_then(|_| self.sessions.silent_since(lineage, fence, self.now_ms));
        let expires = view.facts.assignee_expires.filter(|_| held);
        view.facts.lease_ended = expires.is_some_and(|expires| expires.ms() <= self.now_ms);
        view.facts.silent_since = since.and_then(|ms| Timestamp::from_ms(ms).ok());
    }

    pub(super) fn view(&self, lineage: &Lineage) -> Result<BeadView, Failure> {
        let missing = || Failure::new(Code::NotFound, format!("{lineage:?} does not exist"));
        let mut view = self.catalog.view(lineage).ok_or_else(missing)?;
        self.note_silence(lineage, &mut view);
        Ok(view)
    }
}

/// A query with a snapshot of the state. Copies of a state share their entries, so a snapshot is cheap.
#[derive(Debug)]
pub struct LongQuestion {
    state: State,
    position: u64,
    now_ms: u64,
    call: Call,
    output: Output,
    stderr: String,
    claim_over: Vec<ClaimOver>,
    indexes: Arc<Indexes>,
    sessions: Arc<Sessions>,
    rows: Option<Arc<RowCache>>,
    place: Place,
    extra: Result<Extra, Failure>,
}

/// What a long query needs besides the beads.
#[derive(Debug)]
enum Extra {
    Nothing,
    /// For queries about the past, or about what is on disk.
    Archive(Box<ArchiveCopy>),
    Status(Box<StatusFacts>),
}

impl LongQuestion {
    /// Answers from the snapshot.
    pub fn answer(mut self) -> Reply {
        let result = match self.call {
            Call::Repair { .. } => repair_plan(&self.place),
            _ => self.read(),
        };
        let mut reply = render::reply(result, &self.output, self.position);
        reply.stderr.push_str(&self.stderr);
        reply.claim_over = self.claim_over;
        reply
    }

    fn read(&mut self) -> Result<Answer, Failure> {
        let catalog = self.indexes.of(std::mem::take(&mut self.state));
        let extra = std::mem::replace(&mut self.extra, Ok(Extra::Nothing));
        let (call, now_ms) = (&self.call, self.now_ms);
        let reader =
            Reader { catalog: &catalog, now_ms, sessions: &self.sessions, rows: self.rows.as_deref() };
        let answer = |extra: Extra| match (extra, call) {
            (Extra::Archive(archive), _) => archive.with(&catalog, now_ms, |archive| archive.call(call)),
            (Extra::Status(facts), _) => reader.status(*facts),
            (Extra::Nothing, Call::Query(query)) if is_about_archived(&catalog, query) => {
                query_archived(&self.place, reader, query, &self.output)
            }
            (Extra::Nothing, Call::Query(query)) => reader.query(query, &self.output),
            (Extra::Nothing, Call::Export { format, .. }) => reader.export_all(&self.place, *format),
            (Extra::Nothing, Call::CompareFile { path, name }) => {
                compare_file(&self.place, path, name, catalog.state())
            }
            _ => Err(Failure::internal("not a long query")),
        };
        call.check_paths().and(extra).and_then(answer)
    }
}

impl Service {
    pub(super) fn reader(&self) -> Reader<'_> {
        let (catalog, now_ms) = (self.replica.catalog(), self.replica.now_ms());
        Reader { catalog, now_ms, sessions: &self.sessions, rows: self.rows.as_deref() }
    }

    /// Returns whether answering may take long: in proportion to a large store, its history or a file.
    pub fn is_long(&self, call: &Call) -> bool {
        match call {
            Call::Validate | Call::CompareFile { .. } | Call::Import { .. } => return true,
            Call::Repair { .. } | Call::ImportRescued { .. } => return true,
            Call::Query(query) if is_about_the_past(query) => return true,
            Call::Query(query) if is_about_archived(self.replica.catalog(), query) => return true,
            _ => {}
        }
        let all = self.replica.catalog().state().beads().len() > LONG_BEADS;
        all && match call {
            Call::Export { path: None, .. } => true,
            Call::Query(query) => match query.as_ref() {
                Query::List(filter) | Query::Forest(filter) | Query::Details(filter) => {
                    filter.limit.is_none_or(|limit| limit > SHORT_LIST)
                }
                Query::Ready(asked) => asked.filter.limit.is_none_or(|limit| limit > SHORT_LIST),
                Query::Overview { ids: None, .. }
                | Query::Blocked(_)
                | Query::Links { .. }
                | Query::Deleted
                | Query::DepTree { .. }
                | Query::Explain(_)
                | Query::Plan(_)
                | Query::Graph { .. }
                | Query::Cycles
                | Query::NotesBy { .. }
                | Query::Questions
                | Query::Status
                | Query::Epics => true,
                _ => false,
            },
            _ => false,
        }
    }

    /// Takes a snapshot for a long query. Call it after a commit, because the answer must be durable.
    pub fn long_question(&mut self, request: Request) -> LongQuestion {
        self.discover_remote_store(&request, &request.call);
        self.note_local_only(&request, self.replica.position());
        let output = self.resolve_dialect(&request.output);
        let mut extra = Reply::default();
        if output.format != Format::Value && !output.quiet {
            self.suggest_compat_setup();
            extra.stderr.extend(self.remarks.drain(..).map(|remark| format!("note: {remark}\n")));
        }
        // With `--json`, an error is the only line on standard error, and this query may still fail.
        if output.format != Format::Json {
            self.track_and_report_claims(&request, Vec::new(), &mut extra);
        }
        LongQuestion {
            extra: self.extra_for(&request.call),
            state: self.replica.catalog().state().clone(),
            position: self.replica.position(),
            now_ms: self.replica.now_ms(),
            place: self.place.clone(),
            call: request.call,
            output,
            stderr: extra.stderr,
            claim_over: extra.claim_over,
            indexes: self.indexes.clone(),
            sessions: self.sessions.clone(),
            rows: self.rows.clone(),
        }
    }

    /// Copies what the answer to a long query needs besides the beads.
    fn extra_for(&self, call: &Call) -> Result<Extra, Failure> {
        if matches!(call, Call::Query(query) if matches!(**query, Query::Status)) {
            return Ok(Extra::Status(Box::new(self.status_facts()?)));
        }
        Ok(self.copy_archive(call)?.map_or(Extra::Nothing, |archive| Extra::Archive(Box::new(archive))))
    }
}
