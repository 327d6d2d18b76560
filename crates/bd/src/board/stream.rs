//! Changes as they happen: server-sent events with the cursor of the event log. A page that comes back after
//! hours sends its last cursor and gets everything since then.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Query as Parameters, State};
use axum::http::StatusCode;
use axum::response::Response;
use beads_engine::failure::Failure;
use beads_engine::render::EventsAnswer;
use beads_engine::request::{Call, EventsQuery, Query};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc::{Sender, channel};

use super::reply;
use super::server::Shared;
use super::snapshot;
use super::store::StoreClient;

/// How long one request to the daemon waits. Afterwards the stream sends a sign of life.
const WAIT: Duration = Duration::from_secs(20);

/// How soon after a change the counts, agents and queue follow. Changes in between share one message.
const SETTLE: Duration = Duration::from_millis(250);

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

/// Sends changes until the page goes away or the server stops.
fn follow(shared: &Arc<Shared>, mut cursor: String, send: &Sender<String>) {
    let mut pulse_due: Option<Instant> = None;
    let mut refreshed = Instant::now();
    let mut failing = false;
    let is_pulsing = Arc::new(AtomicBool::new(false));
    // The headers leave with the first message, and the page waits for them.
    let _ = send.blocking_send(": open\n\n".to_owned());
    while !send.is_closed() && !shared.is_stopping() {
        let wait = pulse_due.map_or(WAIT, |due| due.saturating_duration_since(Instant::now()));
        let sent = match changes(&shared.store, &cursor, wait) {
            Ok(Some(change)) => {
                cursor.clone_from(&change.cursor);
                pulse_due.get_or_insert_with(|| Instant::now() + SETTLE);
                write(send, "change", &change)
            }
            Ok(None) => send.blocking_send(": alive\n\n".to_owned()).is_ok(),
            Err(failure) => {
                let sent = match snapshot::newest_cursor(&shared.store) {
                    // The log no longer reaches back to the cursor, so the page has to read everything again.
                    Ok(newest) => {
                        cursor = newest;
                        write(send, "restart", &cursor)
                    }
                    Err(_) => failing || write(send, "failed", &failure),
                };
                failing = true;
                std::thread::sleep(RETRY);
                sent && send.blocking_send(": waiting\n\n".to_owned()).is_ok()
            }
        };
        if !sent {
            return;
        }
        let is_due =
            pulse_due.is_some_and(|due| due <= Instant::now()) || refreshed.elapsed() >= REFRESH || failing;
        if is_due && !is_pulsing.swap(true, Ordering::AcqRel) {
            (pulse_due, refreshed, failing) = (None, Instant::now(), false);
            send_pulse(shared, send, &is_pulsing);
        } else if is_due {
            pulse_due = Some(Instant::now() + SETTLE);
        }
    }
}

/// Reads everything that is not in a bead and sends it, on a thread of its own: in a large store that takes
/// longer than a change may be late.
fn send_pulse(shared: &Arc<Shared>, send: &Sender<String>, is_pulsing: &Arc<AtomicBool>) {
    let (shared, send, is_pulsing) = (shared.clone(), send.clone(), is_pulsing.clone());
    std::thread::spawn(move || {
        match snapshot::pulse(&shared.store) {
            Ok(pulse) => write(&send, "pulse", &pulse),
            Err(failure) => write(&send, "failed", &failure),
        };
        is_pulsing.store(false, Ordering::Release);
    });
}

/// Waits for changes after a cursor and returns them with the beads as they are now.
fn changes(store: &StoreClient, cursor: &str, wait: Duration) -> Result<Option<Change>, Failure> {
    let query = EventsQuery { since: Some(cursor.parse()?), ..EventsQuery::default() };
    let answer: EventsAnswer = store.value(Call::query(Query::Events(query)).waiting(Some(wait)))?;
    if answer.events.is_empty() {
        return Ok(None);
    }
    let ids: BTreeSet<String> =
        answer.events.iter().filter_map(|event| event.event.id.as_ref()).map(ToString::to_string).collect();
    let ids: Vec<String> = ids.into_iter().collect();
    let beads = store.query(Query::Overview { ids: Some(ids.clone()) })?;
    Ok(Some(Change { cursor: answer.cursor, events: answer.events, beads, ids }))
}

/// Writes a message. Returns false if the page is gone.
fn write<T: Serialize>(send: &Sender<String>, event: &str, value: &T) -> bool {
    let Ok(data) = serde_json::to_string(value) else { return false };
    send.blocking_send(format!("event: {event}\ndata: {data}\n\n")).is_ok()
}
