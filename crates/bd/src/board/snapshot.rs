//! What the page starts from: all beads in brief, and everything about the store that is not in a bead.

use std::time::{Duration, SystemTime};

use beads_core::query::{Filter, ReadyFilter};
use beads_core::{EventKind, Timestamp};
use beads_engine::failure::Failure;
use beads_engine::render::EventsAnswer;
use beads_engine::request::{ActivityQuery, Call, EventsQuery, Query};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::mail;
use super::store::StoreClient;

/// How many of the next beads are listed with their place in the queue. The daemon answers a list of this length from
/// a snapshot, so that other requests do not wait for it.
const QUEUE: usize = 250;

/// How many notes and closes the page starts with.
const FEED: usize = 60;

/// How many incidents of the period are listed.
const INCIDENTS: usize = 500;

/// Agents that were not heard from for this long are left out.
const AGENTS_SINCE: Duration = Duration::from_secs(36 * 60 * 60);

/// The events that show as notes while they come.
const FEED_KINDS: [EventKind; 5] =
    [EventKind::Note, EventKind::Closed, EventKind::Asked, EventKind::Answered, EventKind::Cancelled];

/// Which of the slow parts a pulse has. A page keeps the parts that are missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PulseParts {
    /// Notes and incidents, which are read from the event log. A page adds those of the stream itself.
    pub history: bool,
    pub cycles: bool,
}

impl PulseParts {
    pub const ALL: Self = Self { history: true, cycles: true };

    /// Returns the parts that an event can change.
    pub fn after(kind: EventKind) -> Self {
        use EventKind::{Archived, Conflict, Created, Deleted, Synced, Updated};
        let may_change_edges = matches!(kind, Archived | Conflict | Created | Deleted | Synced | Updated);
        Self { history: false, cycles: may_change_edges }
    }

    /// Adds other parts.
    pub fn or(self, other: Self) -> Self {
        Self { history: self.history || other.history, cycles: self.cycles || other.cycles }
    }
}

/// Everything that is not in a bead.
#[derive(Debug, Serialize)]
pub struct Pulse {
    /// The time at the server.
    now: u64,
    /// Its questions, its sync and what waits for a person.
    pub status: Box<RawValue>,
    agents: Box<RawValue>,
    conflicts: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycles: Option<Box<RawValue>>,
    /// The ids of the beads that are handed out next, in order.
    queue: Vec<String>,
    /// Notes and closes, newest last.
    #[serde(skip_serializing_if = "Option::is_none")]
    feed: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    incidents: Option<Box<RawValue>>,
    /// Unread messages and reservations of registered agents, by address.
    mail: Box<RawValue>,
}

/// Everything the page starts from.
#[derive(Debug, Serialize)]
pub struct Snapshot {
    /// Where the stream continues. The beads are at least as new.
    pub cursor: String,
    pub about: About,
    pub beads: Box<RawValue>,
    pub pulse: Pulse,
}

/// The store and who looks at it.
#[derive(Debug, Clone, Serialize)]
pub struct About {
    pub name: String,
    pub host: String,
    pub actor: String,
    pub read_only: bool,
    pub version: &'static str,
}

impl About {
    pub fn new(store: &StoreClient, read_only: bool) -> Self {
        Self {
            name: store.name(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            actor: store.actor.to_string(),
            read_only,
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// Reads everything the page starts from.
pub fn snapshot(store: &StoreClient, read_only: bool) -> Result<Snapshot, Failure> {
    // The cursor comes first: what happens while the rest is read is sent again, which changes nothing.
    let cursor = newest_cursor(store)?;
    // The page waits for both, and the daemon answers long queries on two threads.
    let (beads, pulse) = std::thread::scope(|scope| {
        let beads = scope.spawn(|| store.query(Query::Overview { ids: None, closed_since: None }));
        let pulse = pulse(store, PulseParts::ALL);
        (beads.join(), pulse)
    });
    let beads = beads.map_err(|_| Failure::internal("reading the beads panicked"))??;
    Ok(Snapshot { cursor, about: About::new(store, read_only), beads, pulse: pulse? })
}

/// Returns where the event log ends.
pub fn newest_cursor(store: &StoreClient) -> Result<String, Failure> {
    let events: EventsAnswer = store.value(Call::query(Query::Events(EventsQuery::default())))?;
    Ok(events.cursor)
}

/// Reads everything that is not in a bead.
pub fn pulse(store: &StoreClient, parts: PulseParts) -> Result<Pulse, Failure> {
    #[derive(serde::Deserialize)]
    struct Ready {
        id: String,
        /// An epic with open children is ready, but not handed out.
        open_children: Option<usize>,
    }
    let ready = ReadyFilter { filter: Filter { limit: Some(QUEUE), ..Filter::default() }, under: None };
    let ready: Vec<Ready> = store.value(Call::query(Query::Ready(ready)))?;
    let queue = ready.into_iter().filter(|bead| bead.open_children.is_none()).map(|bead| bead.id).collect();
    let since = SystemTime::now() - AGENTS_SINCE;
    let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    let since = Timestamp::from_ms(u64::try_from(since).unwrap_or_default())?;
    let history = |read: &dyn Fn() -> Result<Box<RawValue>, Failure>| parts.history.then(read).transpose();
    Ok(Pulse {
        now: now_ms(),
        status: store.query(Query::Status)?,
        agents: store.query(Query::Agents { since })?,
        conflicts: store.ask(Call::ConflictList { all: false, bead: None }, None)?,
        cycles: parts.cycles.then(|| store.query(Query::Cycles)).transpose()?,
        queue,
        feed: history(&|| activity(store, &FEED_KINDS, None, FEED))?,
        incidents: history(&|| activity(store, &ActivityQuery::INCIDENTS, Some(since), INCIDENTS))?,
        mail: to_raw_value(&mail::overview(&store.directory)).map_err(Failure::internal)?,
    })
}

fn activity(
    store: &StoreClient,
    kinds: &[EventKind],
    since: Option<Timestamp>,
    limit: usize,
) -> Result<Box<RawValue>, Failure> {
    let kinds = kinds.to_vec();
    store.query(Query::Activity(ActivityQuery {
        kinds,
        since,
        limit: Some(limit),
        ..ActivityQuery::default()
    }))
}

/// Returns the time in milliseconds since 1970.
pub fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or_default()
}
