//! Answers questions from a catalog alone: the store's own, or a snapshot in another thread.

use std::sync::{Arc, Mutex, PoisonError};

use beads_core::{BeadView, Catalog, Lineage, State, Status, Timestamp};

use super::Service;
use super::sessions::Sessions;
use crate::failure::{Code, Failure};
use crate::render;
use crate::request::{Call, Format, Output, Query, Reply, Request};

/// A question about all beads of a store with more than these is answered from a snapshot, so that nobody waits behind it.
const LONG_BEADS: usize = 2_000;

/// A list that ends after so many beads is short, whatever the size of the store.
const SHORT_LIST: usize = 200;

/// The beads at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) now_ms: u64,
    /// For beads whose holders are silent.
    pub(super) sessions: &'a Sessions,
}

impl Reader<'_> {
    /// Notes since when the session behind a claim is silent.
    pub(super) fn note_silence(&self, lineage: &Lineage, view: &mut BeadView) {
        let held = view.facts.status == Status::InProgress;
        let fence = view.facts.assignee_at.filter(|_| held);
        let since = fence.and_then(|_| self.sessions.silent_since(lineage, fence, self.now_ms));
        view.facts.silent_since = since.and_then(|ms| Timestamp::from_ms(ms).ok());
    }

    pub(super) fn view(&self, lineage: &Lineage) -> Result<BeadView, Failure> {
        let gone = || Failure::new(Code::NotFound, format!("{lineage:?} is not here"));
        let mut view = self.catalog.view(lineage).ok_or_else(gone)?;
        self.note_silence(lineage, &mut view);
        Ok(view)
    }
}

/// A question with a snapshot to answer it from. Copies of a state share their entries, so making one is cheap.
#[derive(Debug)]
pub struct LongQuestion {
    state: State,
    position: u64,
    now_ms: u64,
    call: Call,
    output: Output,
    stderr: String,
    indexes: Arc<Indexes>,
    sessions: Arc<Sessions>,
}

/// The catalog that the last question needed, for the next one about the same state.
#[derive(Debug, Default)]
pub(super) struct Indexes(Mutex<Option<Arc<Catalog>>>);

impl Indexes {
    fn of(&self, state: State) -> Arc<Catalog> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(catalog) if catalog.state().is_same_copy(&state) => catalog.clone(),
            _ => {
                let catalog = Arc::new(Catalog::from(state));
                *last = Some(catalog.clone());
                catalog
            }
        }
    }

    /// Lets go of a state that nobody asks about any more.
    pub(super) fn forget(&self) {
        if let Ok(mut last) = self.0.try_lock() {
            *last = None;
        }
    }
}

impl LongQuestion {
    /// Answers from the snapshot.
    pub fn answer(self) -> Reply {
        let catalog = self.indexes.of(self.state);
        let reader = Reader { catalog: &catalog, now_ms: self.now_ms, sessions: &self.sessions };
        let result = match &self.call {
            Call::Query(query) => reader.query(query, &self.output),
            Call::Export { format, .. } => Ok(reader.export(*format)),
            _ => Err(Failure::internal("this call has no long answer")),
        };
        let mut reply = render::reply(result, &self.output, self.position);
        reply.stderr.push_str(&self.stderr);
        reply
    }
}

impl Service {
    pub(super) fn reader(&self) -> Reader<'_> {
        let (catalog, now_ms) = (self.replica.catalog(), self.replica.now_ms());
        Reader { catalog, now_ms, sessions: &self.sessions }
    }

    /// Whether answering takes time in proportion to the store, and the store is large.
    pub fn is_long(&self, call: &Call) -> bool {
        let all = self.replica.catalog().state().beads().len() > LONG_BEADS;
        all && match call {
            Call::Export { path: None, .. } => true,
            Call::Query(query) => match query.as_ref() {
                Query::List(filter) | Query::Forest(filter) | Query::Details(filter) => {
                    filter.limit.is_none_or(|limit| limit > SHORT_LIST)
                }
                Query::Ready(asked) => asked.filter.limit.is_none_or(|limit| limit > SHORT_LIST),
                Query::Blocked(_)
                | Query::Deleted
                | Query::DepTree { .. }
                | Query::Explain(_)
                | Query::Plan(_)
                | Query::Graph { .. }
                | Query::Cycles
                | Query::Epics => true,
                _ => false,
            },
            _ => false,
        }
    }

    /// Lets go of the snapshot of the last long question: the next one is about another state.
    pub fn forget_indexes(&self) {
        self.indexes.forget();
    }

    /// Sets a snapshot aside for a question. What it shows must be durable, so this comes after a commit.
    pub fn long_question(&mut self, request: Request) -> LongQuestion {
        self.first_look(&request, &request.call);
        let output = self.settle(&request.output);
        let mut stderr = String::new();
        if output.format != Format::Value && !output.quiet {
            self.look_for_clients();
            stderr.extend(self.remarks.drain(..).map(|remark| format!("note: {remark}\n")));
        }
        LongQuestion {
            state: self.replica.catalog().state().clone(),
            position: self.replica.position(),
            now_ms: self.replica.now_ms(),
            call: request.call,
            output,
            stderr,
            indexes: self.indexes.clone(),
            sessions: self.sessions.clone(),
        }
    }
}
