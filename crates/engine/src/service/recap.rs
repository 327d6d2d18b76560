//! Reports about the work of all actors: `recap`, `activity` and `agents`.

use std::path::PathBuf;
use std::sync::Arc;

use beads_core::query::{RecapSources, SessionSign, WorkSources};
use beads_core::{Catalog, Event, Lineage, Timestamp};
use beads_store::{EventLogCopy, PastEvents, RealDisk};

use super::Service;
use super::archive::Archive;
use super::heard_from::HeardFrom;
use super::reader::Reader;
use super::sessions::Liveness;
use crate::failure::Failure;
use crate::render::{ActivityAnswer, AgentAnswer, Answer, NoteAnswer, RecapAnswer};
use crate::request::{ActivityQuery, Moment, Query, RecapQuery};

/// What a report needs besides the beads and their history, copied for another thread.
#[derive(Debug, Default)]
pub(super) struct WorkLog {
    events: EventLogCopy,
    heard_from: Arc<HeardFrom>,
    store_dir: PathBuf,
    sessions: Vec<SessionSign>,
    /// Since when the sync has been failing, and why.
    sync_failing: Option<(u64, String)>,
}

impl Archive<'_> {
    /// Returns what happened in a period.
    pub(super) fn recap(&self, asked: &RecapQuery) -> Answer {
        let (events, complete) = self.events_since(Some(asked.since));
        let sync_failing = self.work.sync_failing.as_ref().map(|(since, reason)| (*since, reason.as_str()));
        let work = WorkSources {
            since_ms: asked.since.ms(),
            now_ms: self.now_ms,
            events: &events,
            signs: None,
            sessions: &self.work.sessions,
        };
        let recap = self.catalog.recap(&RecapSources { work, complete, sync_failing });
        Answer::Recap(Box::new(RecapAnswer::new(recap, asked)))
    }

    /// Returns the events that match a query, newest last.
    pub(super) fn activity(&self, asked: &ActivityQuery) -> Result<Answer, Failure> {
        let bead = asked.bead.as_deref().map(|name| self.catalog.resolve_any(name)).transpose()?;
        let (mut events, complete) = self.events_since(asked.since);
        let since = asked.since.map(|since| since.to_string());
        let is_about = |event: &Event, bead: &Lineage| {
            let id = event.id.as_ref();
            id.is_some_and(|id| self.catalog.resolve_any(id.as_str()).ok() == Some(bead))
        };
        events.retain(|event| {
            since.as_ref().is_none_or(|since| event.at >= *since)
                && asked.actor.as_ref().is_none_or(|actor| event.by.as_ref() == Some(actor))
                && (asked.kinds.is_empty() || asked.kinds.contains(&event.kind))
                && bead.is_none_or(|bead| is_about(event, bead))
        });
        // The log is in the order of arrival; changes of other machines arrive late.
        events.sort_by(|a, b| a.at.cmp(&b.at));
        let surplus = events.len().saturating_sub(asked.limit.unwrap_or(usize::MAX));
        events.drain(..surplus);
        Ok(Answer::Activity(ActivityAnswer { events, complete }))
    }

    /// Returns the actors that hold beads or were heard from since a time.
    pub(super) fn agents(&self, since: Timestamp) -> Answer {
        // Everything older than the log is in the beads themselves: who wrote each field, and when.
        let signs = self.work.heard_from.signs(&self.work.events, &self.disk());
        let sources = WorkSources {
            since_ms: since.ms(),
            now_ms: self.now_ms,
            events: &[],
            signs: Some(&signs),
            sessions: &self.work.sessions,
        };
        let workers = self.catalog.workers(&sources);
        Answer::Agents(workers.into_iter().map(|worker| AgentAnswer { worker, mail: None }).collect())
    }

    /// Reads the events of the log.
    fn logged_events(&self) -> PastEvents {
        self.work.events.read(&self.disk())
    }

    fn disk(&self) -> RealDisk {
        RealDisk::read_only(self.work.store_dir.clone())
    }

    /// Returns the events of the log, and whether they cover the period since a time. If they do not, the
    /// changes since the state at that time are added, from the history of the ref.
    fn events_since(&self, since: Option<Timestamp>) -> (Vec<Event>, bool) {
        let past = self.logged_events();
        let first = past.events.iter().map(|event| &event.at).min();
        // Without an older bead there is nothing that the log could have missed.
        let oldest = self.catalog.state().beads().keys().map(|lineage| lineage.at().ms()).min();
        let oldest = oldest.map(Timestamp::text_of);
        let covers = match (first, &oldest) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(first), Some(oldest)) => {
                first <= oldest || since.is_some_and(|since| *first <= since.to_string())
            }
        };
        let Some(since) = since.filter(|_| !covers || !past.without_gap) else {
            return (past.events, covers && past.without_gap);
        };
        let Ok(before) = self.state_at(&Moment::Time(since)) else { return (past.events, false) };
        let derived = Catalog::from(before).join_with_events(self.catalog.state(), self.now_ms);
        let is_older = |event: &Event| first.is_none_or(|first| event.at < *first);
        let older: Vec<Event> = derived.into_iter().filter(is_older).collect();
        (older.into_iter().chain(past.events).collect(), false)
    }
}

impl Reader<'_> {
    /// Returns the notes of an actor on one bead or on all live beads, newest last.
    pub(super) fn notes_by(&self, author: &beads_core::Actor, id: Option<&str>) -> Result<Answer, Failure> {
        let catalog = self.catalog;
        let only = id.map(|id| catalog.resolve(id)).transpose()?;
        let beads = catalog.live().filter(|(lineage, _)| only.is_none_or(|only| only == *lineage));
        let mut found: Vec<NoteAnswer> = beads
            .flat_map(|(lineage, bead)| {
                let notes = bead.notes.values().filter(|note| note.author == *author);
                notes.map(|note| NoteAnswer::new(catalog.id_of(lineage), note))
            })
            .collect();
        found.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        Ok(Answer::Notes(found))
    }
}

impl Service {
    /// Copies what the answer to a query needs besides the beads and their history.
    pub(super) fn work_log(&self, query: &Query) -> WorkLog {
        if !matches!(query, Query::Recap(_) | Query::Activity(_) | Query::Agents { .. }) {
            return WorkLog::default();
        }
        let error = self.sync_state.last_error.as_ref();
        WorkLog {
            events: self.replica.copy_events(),
            heard_from: self.heard_from.clone(),
            store_dir: self.place.store_dir(),
            sessions: self.session_signs(),
            sync_failing: error.map(|error| (error.since_ms, error.message.clone())),
        }
    }

    /// Returns the sessions that hold claims, with their last signs of life.
    fn session_signs(&self) -> Vec<SessionSign> {
        let (catalog, now_ms) = (self.replica.catalog(), self.replica.now_ms());
        let sign = |(lineage, held): (&Lineage, &super::sessions::Held)| {
            catalog.live_bead(lineage).filter(|bead| bead.claim.fence() == Some(held.fence))?;
            let (seen_ms, gone) = match self.liveness_of(held, now_ms) {
                Liveness::Live(at) | Liveness::Silent(at) => (at, false),
                Liveness::Ended(at) => (at, true),
            };
            let session = held.session.to_string();
            Some(SessionSign { lineage: lineage.clone(), session, seen_ms, gone })
        };
        self.sessions.claims().filter_map(sign).collect()
    }
}
