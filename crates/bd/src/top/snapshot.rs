//! What the store says at one moment.

use std::collections::BTreeMap;

use beads_core::query::{Filter, ReadyFilter, Worker};
use beads_core::{EventKind, Timestamp};
use beads_engine::failure::Failure;
use beads_engine::request::{ActivityQuery, Call, EventsQuery, Query};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::agents::{Agent, State, agents, host};
use super::beads::{Bead, Beads};
use super::epics::{Epic, epics};
use super::matter::{Finder, Matter, Why};
use super::night::{Missing, Night};
use super::{About, Store};

/// How many beads are listed as next.
const NEXT: usize = 50;

/// How many notes are listed.
const NOTES: usize = 20;

/// How many incidents of the period are listed.
const INCIDENTS: usize = 200;

/// The cursor before the first event of every store.
const FIRST_CURSOR: &str = "0";

/// What the store says at one moment, ready to be drawn.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub about: About,
    pub now_ms: u64,
    /// The beginning of the period that is looked at.
    pub since_ms: u64,
    /// Beads closed in the period.
    pub closed: usize,
    /// What cannot go on, those that most beads wait for first.
    pub stuck: Vec<Matter>,
    /// How many beads wait behind them.
    pub behind: usize,
    /// Everything that needs a person, `stuck` included.
    pub needs: Vec<Matter>,
    /// How many more beads are stale: only the most urgent of them are in `needs`.
    pub unlisted: usize,
    pub agents: Vec<Agent>,
    pub next: Vec<Next>,
    pub ready: usize,
    /// What everything more urgent waits for.
    pub awaited: Option<Awaited>,
    pub sync: Option<SyncTrouble>,
    pub epics: Vec<Epic>,
    pub notes: Vec<NoteLine>,
    pub night: Night,
}

/// A bead that is handed out next.
#[derive(Debug, Clone, Deserialize)]
pub struct Next {
    pub id: String,
    pub title: String,
    pub priority: u8,
    /// An epic with open children is ready, but not handed out.
    #[serde(default)]
    open_children: Option<usize>,
}

/// Why nothing more urgent is free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awaited {
    pub priority: u8,
    /// The beads that those of this priority wait for.
    pub ids: Vec<String>,
}

/// Why the sync fails.
#[derive(Debug, Clone)]
pub struct SyncTrouble {
    pub since_ms: u64,
    pub message: String,
    pub attempts: u64,
    pub waiting: u64,
    /// The machines of which nothing is known since the last sync, and when that was.
    pub unheard: Option<(Vec<String>, u64)>,
}

/// A note as it came, or an incident.
#[derive(Debug, Clone)]
pub struct NoteLine {
    pub at_ms: u64,
    pub by: String,
    pub id: String,
    pub text: String,
}

/// The answers that a snapshot is made of.
#[derive(Debug)]
pub struct Answers {
    pub about: About,
    pub status: Status,
    pub workers: Vec<Worker>,
    pub conflicts: Vec<Value>,
    pub cycles: Vec<Value>,
    pub next: Vec<Next>,
}

impl Answers {
    /// Returns when the last sync succeeded, if there is a remote.
    pub fn last_sync_ms(&self) -> Option<u64> {
        self.status.sync.last_success.as_deref().and_then(ms)
    }
}

#[derive(Debug, Deserialize)]
pub struct Status {
    pub summary: Summary,
    #[serde(default)]
    pub questions: Vec<Question>,
    #[serde(default)]
    pub waiting: Vec<Waiting>,
    pub sync: Sync,
}

#[derive(Debug, Deserialize)]
pub struct Summary {
    pub ready_issues: usize,
}

#[derive(Debug, Deserialize)]
pub struct Question {
    pub id: String,
    pub title: String,
    pub question: String,
    pub text: String,
    pub asked_by: String,
    pub at: String,
}

/// Something that needs a person because of its status.
#[derive(Debug, Deserialize)]
pub struct Waiting {
    pub need: String,
    pub id: String,
    pub title: String,
    pub actor: Option<String>,
    pub since: String,
}

#[derive(Debug, Deserialize)]
pub struct Sync {
    unsynced: u64,
    last_success: Option<String>,
    last_error: Option<SyncError>,
}

#[derive(Debug, Deserialize)]
struct SyncError {
    message: String,
    since: String,
    attempts: u64,
}

impl Snapshot {
    /// Asks the store about the period since `since_ms`.
    pub fn of(store: &dyn Store, since_ms: u64) -> Result<Self, Failure> {
        let now_ms = store.clock().now_ms;
        let since = Timestamp::from_ms(since_ms)?;
        let status: Status = ask(store, Query::Status)?;
        let has_conflicts = status.waiting.iter().any(|one| one.need == "conflict");
        let conflicts = Call::ConflictList { all: false, bead: None };
        let conflicts = if has_conflicts { read(store.ask(conflicts)?)? } else { Vec::new() };
        let filter = Filter { limit: Some(NEXT), ..Filter::default() };
        let overview = Query::Overview { ids: None, closed_since: Some(since) };
        let beads: Vec<Bead> = ask(store, overview)?;
        let mut answers = Answers {
            about: store.about()?,
            status,
            workers: ask(store, Query::Agents { since })?,
            conflicts,
            cycles: ask(store, Query::Cycles)?,
            next: ask(store, Query::Ready(ReadyFilter { filter, under: None }))?,
        };
        answers.next.retain(|one| one.open_children.is_none());
        let progress: Vec<Value> = ask(store, Query::Epics)?;
        let (notes, _) = activity(store, &[EventKind::Note], None, NOTES)?;
        let (incidents, complete) = activity(store, &ActivityQuery::INCIDENTS, Some(since), INCIDENTS)?;
        let mut snapshot =
            Self::from_answers(answers, (beads, progress), (&notes, &incidents), (since_ms, now_ms));
        if !complete {
            let begins_ms = log_begins_ms(store)?.unwrap_or(now_ms);
            let begins_late = begins_ms > since_ms;
            snapshot.night.missing =
                Some(if begins_late { Missing::Before(begins_ms) } else { Missing::Gap });
        }
        Ok(snapshot)
    }

    /// Makes a snapshot of answers.
    pub fn from_answers(
        answers: Answers,
        (beads, progress): (Vec<Bead>, Vec<Value>),
        (notes, incidents): (&[Value], &[Value]),
        (since_ms, now_ms): (u64, u64),
    ) -> Self {
        let beads = Beads::new(beads, now_ms);
        let notes: Vec<NoteLine> = notes.iter().rev().filter_map(|event| note(event, "text")).collect();
        let (needs, unlisted) = Finder { answers: &answers, beads: &beads, notes: &notes, now_ms }.all();
        let mut stuck: Vec<Matter> = needs.iter().filter(|one| one.is_stuck()).cloned().collect();
        stuck.sort_by(|a, b| (b.waiting, a.since_ms, &a.id).cmp(&(a.waiting, b.since_ms, &b.id)));
        let behind: std::collections::BTreeSet<&str> =
            stuck.iter().flat_map(|one| beads.behind(&one.id)).collect();
        let agents = agents(&answers, &beads, now_ms);
        Self {
            now_ms,
            since_ms,
            closed: beads.iter().filter(|bead| bead.closed.is_some() && !bead.is_epic()).count(),
            behind: behind.len(),
            ready: answers.status.summary.ready_issues,
            awaited: awaited(&beads, &answers.next),
            sync: sync_trouble(&answers, &agents, now_ms),
            epics: epics(&progress, &beads),
            night: Night::new(&beads, incidents, since_ms),
            stuck,
            needs,
            unlisted,
            agents,
            notes,
            next: answers.next,
            about: answers.about,
        }
    }

    /// Returns how many agents work, and how many there are.
    pub fn working(&self) -> (usize, usize) {
        (self.agents.iter().filter(|agent| agent.state.works()).count(), self.agents.len())
    }

    /// Returns how much needs the reader: the matters, those that are not listed included, and a failing sync.
    pub fn need_count(&self) -> usize {
        self.needs.len() + self.unlisted + usize::from(self.sync.is_some())
    }

    /// Says how many stale beads are listed, unless all are.
    pub fn stale_listed(&self) -> Option<String> {
        let listed = self.needs.iter().filter(|one| matches!(one.why, Why::Stale)).count();
        (self.unlisted > 0).then(|| format!("{listed} of {} stale beads are listed", listed + self.unlisted))
    }

    /// Iterates over what needs the reader but stops no work.
    pub fn other_needs(&self) -> impl Iterator<Item = &Matter> {
        self.needs.iter().filter(|one| !one.is_stuck())
    }
}

fn ask<T: DeserializeOwned>(store: &dyn Store, query: Query) -> Result<T, Failure> {
    read(store.ask(Call::query(query))?)
}

fn read<T: DeserializeOwned>(answer: Value) -> Result<T, Failure> {
    serde_json::from_value(answer).map_err(Failure::internal)
}

/// Returns the newest events of these kinds, oldest first, and whether the log covers the period.
fn activity(
    store: &dyn Store,
    kinds: &[EventKind],
    since: Option<Timestamp>,
    limit: usize,
) -> Result<(Vec<Value>, bool), Failure> {
    let asked =
        ActivityQuery { kinds: kinds.to_vec(), since, limit: Some(limit), ..ActivityQuery::default() };
    let mut answer: Value = ask(store, Query::Activity(asked))?;
    Ok((read(answer["events"].take())?, answer["complete"] != false))
}

/// Returns the time of the first event of the log; none if it is empty.
fn log_begins_ms(store: &dyn Store) -> Result<Option<u64>, Failure> {
    let first = |since: &str| -> Result<Value, Failure> {
        let query = EventsQuery { since: Some(since.parse()?), limit: Some(1), ..EventsQuery::default() };
        store.ask(Call::query(Query::Events(query)))
    };
    let batch = match first(FIRST_CURSOR) {
        // The refusal names the oldest cursor.
        Err(failure) if failure.details["oldest"].is_string() => {
            first(failure.details["oldest"].as_str().unwrap_or_default())?
        }
        batch => batch?,
    };
    Ok(batch["events"][0]["at"].as_str().and_then(ms))
}

/// Returns the milliseconds since 1970 of a time.
pub fn ms(time: &str) -> Option<u64> {
    time.parse::<Timestamp>().ok().map(Timestamp::ms)
}

/// Reads an event whose words are in the field `text`.
pub fn note(value: &Value, text: &str) -> Option<NoteLine> {
    let string = |name: &str| value[name].as_str().map(str::to_owned);
    Some(NoteLine {
        at_ms: ms(value["at"].as_str()?)?,
        by: string("by").unwrap_or_default(),
        id: string("id")?,
        text: string(text).unwrap_or_default(),
    })
}

fn sync_trouble(answers: &Answers, agents: &[Agent], now_ms: u64) -> Option<SyncTrouble> {
    let sync = &answers.status.sync;
    let error = sync.last_error.as_ref()?;
    let unknown = agents.iter().filter(|agent| agent.state == State::Unknown);
    let mut hosts: Vec<String> = unknown.filter_map(|agent| host(&agent.name)).map(str::to_owned).collect();
    hosts.sort();
    hosts.dedup();
    let unheard = answers.last_sync_ms().filter(|_| !hosts.is_empty()).map(|at| (hosts, at));
    Some(SyncTrouble {
        since_ms: ms(&error.since).unwrap_or(now_ms),
        message: error.message.clone(),
        attempts: error.attempts,
        waiting: sync.unsynced,
        unheard,
    })
}

/// Returns what all blocked beads wait for that are more urgent than everything that is free.
fn awaited(beads: &Beads, next: &[Next]) -> Option<Awaited> {
    let best = next.iter().map(|one| one.priority).min().unwrap_or(5);
    let better =
        beads.iter().filter(|bead| bead.priority < best && !bead.is_epic() && beads.is_blocked(bead));
    let better: Vec<&Bead> = better.collect();
    let priority = better.iter().map(|bead| bead.priority).min()?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for before in better.iter().flat_map(|bead| beads.blockers(bead)).filter(|one| !beads.is_blocked(one)) {
        *counts.entry(&before.id).or_default() += 1;
    }
    let mut roots: Vec<(&str, usize)> = counts.into_iter().collect();
    roots.sort_by_key(|(id, count)| (std::cmp::Reverse(*count), *id));
    let ids: Vec<String> = roots.into_iter().take(3).map(|(id, _)| id.to_owned()).collect();
    (!ids.is_empty()).then_some(Awaited { priority, ids })
}
