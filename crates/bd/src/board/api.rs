//! The reads of the page. Each is a question to the daemon, answered on a thread that may block.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Path, Query as Parameters, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use beads_core::Code;
use beads_engine::failure::Failure;
use beads_engine::request::{ActivityQuery, Call, Query};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::actions::{Act, act};
use super::server::Shared;
use super::snapshot::PulseParts;
use super::store::StoreClient;
use super::{graph, mail, reply, snapshot};

/// The most events of one bead that its page shows.
const BEAD_EVENTS: usize = 500;

/// Everything on the page of a bead.
#[derive(Debug, Serialize)]
pub struct BeadPage {
    pub bead: Box<RawValue>,
    conflicts: Box<RawValue>,
    events: Box<RawValue>,
    mail: mail::Contents,
}

/// Reads everything on the page of a bead.
pub fn bead_page(store: &StoreClient, id: &str) -> Result<BeadPage, Failure> {
    let query =
        ActivityQuery { bead: Some(id.to_owned()), limit: Some(BEAD_EVENTS), ..ActivityQuery::default() };
    let shown: Vec<Box<RawValue>> = store.value(Call::query(Query::Show { ids: vec![id.to_owned()] }))?;
    let missing = || Failure::internal("the daemon showed no bead");
    Ok(BeadPage {
        bead: shown.into_iter().next().ok_or_else(missing)?,
        conflicts: store.ask(Call::ConflictList { all: false, bead: Some(id.to_owned()) }, None)?,
        events: store.query(Query::Activity(query))?,
        mail: mail::about(&store.directory, id),
    })
}

pub async fn get_snapshot(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    let read_only = shared.read_only;
    answer(&shared, headers, move |store| snapshot::snapshot(store, read_only)).await
}

pub async fn get_pulse(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    answer(&shared, headers, |store| snapshot::pulse(store, PulseParts::ALL)).await
}

pub async fn get_bead(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    answer(&shared, headers, move |store| bead_page(store, &id)).await
}

/// Which graph to draw.
#[derive(Debug, Deserialize)]
pub struct GraphParameters {
    #[serde(default)]
    around: Option<String>,
    #[serde(default)]
    closed: bool,
    /// Epics to draw in full, separated by commas.
    #[serde(default)]
    open: String,
}

pub async fn get_graph(
    State(shared): State<Arc<Shared>>,
    Parameters(asked): Parameters<GraphParameters>,
    headers: HeaderMap,
) -> Response {
    answer(&shared, headers, move |store| {
        let open: Vec<&str> = asked.open.split(',').filter(|id| !id.is_empty()).collect();
        graph::graph(store, asked.around, asked.closed, &open)
    })
    .await
}

pub async fn get_mail(
    State(shared): State<Arc<Shared>>,
    Path(actor): Path<String>,
    headers: HeaderMap,
) -> Response {
    answer(&shared, headers, move |store| Ok(mail::contents(&store.directory, &actor))).await
}

/// The findings of `bd validate`, which checks everything on disk.
#[derive(Debug)]
pub struct Findings {
    /// Where the event log ended.
    cursor: String,
    read: Instant,
    list: Box<RawValue>,
}

/// Findings of the same state are read again after this time: damage on disk causes no event.
const FINDINGS_AGE: Duration = Duration::from_secs(60);

/// All tabs that open at the same time share one check.
pub async fn get_findings(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    let kept = shared.findings.clone();
    answer(&shared, headers, move |store| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let cursor = snapshot::newest_cursor(store)?;
        if let Some(known) =
            kept.as_ref().filter(|one| one.cursor == cursor && one.read.elapsed() < FINDINGS_AGE)
        {
            return Ok(known.list.clone());
        }
        let list = store.ask(Call::Validate, None)?;
        *kept = Some(Findings { cursor, read: Instant::now(), list: list.clone() });
        Ok(list)
    })
    .await
}

/// Texts of beads that contain words, for the search: the page itself knows only titles.
#[derive(Debug, Deserialize)]
pub struct SearchParameters {
    text: String,
}

/// The most hits of a search in the texts of beads.
const MAX_HITS: usize = 200;

pub async fn get_search(
    State(shared): State<Arc<Shared>>,
    Parameters(asked): Parameters<SearchParameters>,
    headers: HeaderMap,
) -> Response {
    #[derive(Deserialize)]
    struct Id {
        id: String,
    }
    answer(&shared, headers, move |store| {
        let filter =
            beads_core::query::Filter { text: Some(asked.text), limit: Some(MAX_HITS), ..Default::default() };
        let found: Vec<Id> = store.value(Call::query(Query::List(filter)))?;
        Ok(found.into_iter().map(|bead| bead.id).collect::<Vec<_>>())
    })
    .await
}

pub async fn post_act(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: String) -> Response {
    if shared.read_only {
        let message = "the board is read-only; nothing was changed";
        return reply::error(StatusCode::FORBIDDEN, "read_only", message);
    }
    match serde_json::from_str::<Act>(&body) {
        Ok(wanted) => {
            shared.acts.fetch_add(1, Ordering::Relaxed);
            let recent = shared.recent.clone();
            answer(&shared, headers, move |store| act(store, &recent, wanted)).await
        }
        Err(error) => {
            let message = format!("the request is invalid: {error}; nothing was changed");
            reply::error(StatusCode::BAD_REQUEST, Code::InvalidRequest.as_str(), &message)
        }
    }
}

/// Answers on a thread that may block.
async fn answer<T: Serialize + Send + 'static>(
    shared: &Arc<Shared>,
    headers: HeaderMap,
    ask: impl FnOnce(&StoreClient) -> Result<T, Failure> + Send + 'static,
) -> Response {
    let shared = shared.clone();
    let answered = tokio::task::spawn_blocking(move || match ask(&shared.store) {
        Ok(value) => reply::json(&value, &headers),
        Err(failure) => reply::failure(&failure),
    });
    answered.await.unwrap_or_else(|error| reply::failure(&Failure::internal(error)))
}
