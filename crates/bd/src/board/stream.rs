//! Changes as they happen: server-sent events with the cursor of the event log. A page that comes back after
//! hours sends its last cursor and gets everything since then.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Query as Parameters, State};
use axum::http::StatusCode;
use axum::response::Response;
use beads_engine::failure::{Code, Failure};
use beads_engine::render::EventsAnswer;
use beads_engine::request::{Call, EventsQuery, Query};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc::{Sender, channel};

use super::reply;
use super::server::Shared;
use super::snapshot::{self, PulseParts};
use super::store::StoreClient;

/// How long one request to the daemon waits. Afterwards the stream sends a sign of life.
const WAIT: Duration = Duration::from_secs(20);

/// The shortest time between two reads of changes. Those in between share one message, so that agents who write all
/// the time wake the board at most this often. A change after a pause is sent at once.
const PACE: Duration = Duration::from_millis(40);

/// How soon after a change the counts, agents and queue follow. Changes in between share one message.
const SETTLE: Duration = Duration::from_millis(250);

/// After reading the counts, agents and queue, wait this many times as long as that took: at most a fiftieth of the
/// time of one core goes into it. Reading them costs more in a large store, and agents who write all the time must not
/// wait for a board that only looks.
const REST: u32 = 49;

/// The longest such wait.
const MAX_REST: Duration = Duration::from_secs(10);

/// Signs of life that are not events are sent this often.
const REFRESH: Duration = Duration::from_secs(60);

/// How long to wait before the daemon is asked again after an error.
const RETRY: Duration = Duration::from_secs(2);

/// The most streams at the same time. Each occupies a thread; one browser needs one.
pub const MAX_STREAMS: usize = 32;

#[derive(Debug, Deserialize)]
pub struct StreamParameters {
    cursor: String,
}

#[derive(Debug, Serialize)]
struct Change {
    cursor: String,
    events: Vec<beads_engine::render::EventAnswer>,
    beads: Box<RawValue>,
    /// The ids of all beads that changed. Those without a bead were deleted.
    ids: Vec<String>,
}

pub async fn get_stream(
    State(shared): State<Arc<Shared>>,
    Parameters(asked): Parameters<StreamParameters>,
) -> Response {
    let Ok(permit) = shared.streams.clone().try_acquire_owned() else {
        let message = "too many browsers follow this board; close one of them";
        return reply::error(StatusCode::SERVICE_UNAVAILABLE, "too_many_streams", message);
    };
    let (send, receive) = channel::<String>(16);
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        follow(&shared, asked.cursor, &send);
    });
    let messages = futures_util::stream::unfold(receive, async |mut receive| {
        let message = receive.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(message), receive))
    });
    reply::body(StatusCode::OK, "text/event-stream", Body::from_stream(messages))
}

/// When everything that is not in a bead is read again.
#[derive(Debug)]
struct Pulsing {
    /// When it is due because of a change.
    due: Option<Instant>,
    parts: PulseParts,
    refreshed: Instant,
    /// The writes through this board that the last pulse covers.
    acts: u64,
    /// The time before which none is read again; none while one is being read.
    rest_until: Arc<Mutex<Option<Instant>>>,
}

impl Pulsing {
    fn new(shared: &Shared) -> Self {
        let now = Instant::now();
        Self {
            due: None,
            parts: PulseParts::default(),
            refreshed: now,
            acts: shared.acts.load(Ordering::Relaxed),
            rest_until: Arc::new(Mutex::new(Some(now))),
        }
    }

    /// Returns how long to wait for the next change.
    fn wait(&self) -> Duration {
        self.due.map_or(WAIT, |due| due.saturating_duration_since(Instant::now()))
    }

    fn note(&mut self, change: &Change) {
        self.due.get_or_insert_with(|| Instant::now() + SETTLE);
        let kinds = change.events.iter().map(|event| PulseParts::after(event.event.kind));
        self.parts = kinds.fold(self.parts, PulseParts::or);
    }

    /// Reads and sends what is due, unless the last time was too recent.
    fn send_if_due(&mut self, shared: &Arc<Shared>, send: &Sender<String>, failing: &mut bool) {
        let now = Instant::now();
        let refresh = self.refreshed.elapsed() >= REFRESH;
        if !(self.due.is_some_and(|due| due <= now) || refresh || *failing) {
            return;
        }
        let acts = shared.acts.load(Ordering::Relaxed);
        let Ok(mut rest_until) = self.rest_until.lock() else { return };
        match *rest_until {
            // The person who acted waits for the result.
            Some(until) if until <= now || acts != self.acts => *rest_until = None,
            Some(until) => return self.due = Some(until.max(now + SETTLE)),
            None => return self.due = Some(now + SETTLE),
        }
        let parts = if *failing { PulseParts::ALL } else { self.parts };
        (self.due, self.parts, self.refreshed, self.acts, *failing) =
            (None, PulseParts::default(), now, acts, false);
        send_pulse(shared, send, parts, self.rest_until.clone());
    }
}

/// Sends changes until the page goes away or the server stops.
fn follow(shared: &Arc<Shared>, mut cursor: String, send: &Sender<String>) {
    let mut pulsing = Pulsing::new(shared);
    let mut failing = false;
    // The headers leave with the first message, and the page waits for them.
    let _ = send.blocking_send(": open\n\n".to_owned());
    let mut read_at: Option<Instant> = None;
    while !send.is_closed() && !shared.is_stopping() {
        if let Some(read_at) = read_at.take() {
            std::thread::sleep(PACE.saturating_sub(read_at.elapsed()));
        }
        let sent = match changes(&shared.store, &cursor, pulsing.wait()) {
            Ok(Some(change)) => {
                read_at = Some(Instant::now());
                cursor.clone_from(&change.cursor);
                pulsing.note(&change);
                write(send, "change", &change)
            }
            Ok(None) => send.blocking_send(": alive\n\n".to_owned()).is_ok(),
            Err(failure) => {
                let sent = failed(shared, &failure, &mut cursor, send, failing);
                failing = true;
                // The next try does not wait for a change, so that the page soon learns that it succeeded.
                pulsing.due = Some(Instant::now());
                std::thread::sleep(RETRY);
                if sent && send.blocking_send(": waiting\n\n".to_owned()).is_ok() {
                    continue;
                }
                return;
            }
        };
        if !sent {
            return;
        }
        pulsing.send_if_due(shared, send, &mut failing);
    }
}

/// Tells the page that reading changes failed, once. If the log does not have the cursor any more, the page has to
/// read everything again; otherwise the next try goes on at the same cursor. Returns false if the page is gone.
fn failed(
    shared: &Shared,
    failure: &Failure,
    cursor: &mut String,
    send: &Sender<String>,
    was_failing: bool,
) -> bool {
    let newest = is_cursor_gone(failure).then(|| snapshot::newest_cursor(&shared.store).ok()).flatten();
    match newest {
        Some(newest) => {
            *cursor = newest;
            write(send, "restart", cursor)
        }
        None => was_failing || write(send, "failed", failure),
    }
}

/// Reads everything that is not in a bead and sends it, on a thread of its own: in a large store that takes
/// longer than a change may be late.
fn send_pulse(
    shared: &Arc<Shared>,
    send: &Sender<String>,
    parts: PulseParts,
    rest_until: Arc<Mutex<Option<Instant>>>,
) {
    let (shared, send) = (shared.clone(), send.clone());
    std::thread::spawn(move || {
        let start = Instant::now();
        let read = snapshot::pulse(&shared.store, parts);
        let rest = (start.elapsed() * REST).min(MAX_REST);
        match read {
            Ok(pulse) => write(&send, "pulse", &pulse),
            Err(failure) => write(&send, "failed", &failure),
        };
        if let Ok(mut rest_until) = rest_until.lock() {
            *rest_until = Some(Instant::now() + rest);
        }
    });
}

/// Returns whether the log does not reach back to the cursor, or the cursor belongs to another log.
fn is_cursor_gone(failure: &Failure) -> bool {
    matches!(failure.code, Code::CursorExpired | Code::CursorAhead)
}

/// Waits for changes after a cursor and returns them with the beads as they are now.
fn changes(store: &StoreClient, cursor: &str, wait: Duration) -> Result<Option<Change>, Failure> {
    let since = cursor
        .parse()
        .map_err(|error: beads_store::Error| Failure::new(Code::CursorAhead, error.to_string()))?;
    let query = EventsQuery { since: Some(since), ..EventsQuery::default() };
    let answer: EventsAnswer = store.value(Call::query(Query::Events(query)).waiting(Some(wait)))?;
    if answer.events.is_empty() {
        return Ok(None);
    }
    let ids: BTreeSet<String> =
        answer.events.iter().filter_map(|event| event.event.id.as_ref()).map(ToString::to_string).collect();
    let ids: Vec<String> = ids.into_iter().collect();
    let beads = store.query(Query::Overview { ids: Some(ids.clone()), closed_since: None })?;
    Ok(Some(Change { cursor: answer.cursor, events: answer.events, beads, ids }))
}

/// Writes a message. Returns false if the page is gone.
fn write<T: Serialize>(send: &Sender<String>, event: &str, value: &T) -> bool {
    let Ok(data) = serde_json::to_string(value) else { return false };
    send.blocking_send(format!("event: {event}\ndata: {data}\n\n")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_cursor_that_is_gone_begins_again() {
        let failed = |code: &Code| is_cursor_gone(&Failure::new(code.clone(), "why"));
        assert!(failed(&Code::CursorExpired) && failed(&Code::CursorAhead));
        for code in [Code::DaemonUnreachable, Code::Busy, Code::Timeout, Code::IoError, Code::ProtocolError] {
            assert!(!failed(&code), "{code:?}");
        }
    }
}
