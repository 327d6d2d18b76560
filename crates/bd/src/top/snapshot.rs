//! What the store says at one moment.

use std::collections::{BTreeMap, BTreeSet};

use beads_core::query::{Filter, HeldBead, ReadyFilter, Worker, WorkerState};
use beads_core::{EventKind, Timestamp};
use beads_engine::failure::Failure;
use beads_engine::request::{ActivityQuery, Call, GraphFormat, Query};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Store;

/// How many beads are listed as next.
const NEXT: usize = 50;

/// How many notes are listed.
const NOTES: usize = 20;

/// What the store says at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub name: String,
    pub now_ms: u64,
    /// Beads closed since the time that [`Snapshot::of`] counts from.
    pub closed: usize,
    pub stuck: Vec<Stuck>,
    pub agents: Vec<Agent>,
    pub next: Vec<Next>,
    pub ready: usize,
    pub needs: Vec<Need>,
    pub sync: Option<SyncTrouble>,
    pub epics: Vec<Epic>,
    pub notes: Vec<NoteLine>,
}

/// A bead that cannot go on, with the reason.
#[derive(Debug, Clone)]
pub struct Stuck {
    pub word: &'static str,
    pub id: String,
    pub title: String,
    pub why: Why,
    pub detail: String,
    /// How many beads wait behind it.
    pub waiting: usize,
    /// `you`: the note that holds the question.
    pub question: Option<String>,
    pub holder: Option<String>,
}

/// Why a bead is stuck.
#[derive(Debug, Clone)]
pub enum Why {
    AsksSince(u64),
    NoNoteSince(u64),
    NoSignSince(u64),
    NoClaim,
    CycleWith(String),
}

/// An agent.
#[derive(Debug, Clone)]
pub struct Agent {
    pub state: WorkerState,
    pub name: String,
    pub id: Option<String>,
    pub title: String,
    pub seen_ms: Option<u64>,
    pub since_ms: Option<u64>,
}

impl Agent {
    /// Returns the word of the state.
    pub fn word(&self) -> &'static str {
        match self.state {
            WorkerState::Dead => "gone",
            WorkerState::Hung => "slow",
            WorkerState::Quiet => "?",
            WorkerState::Working => "work",
            WorkerState::Idle => "idle",
        }
    }
}

/// A bead that is handed out next.
#[derive(Debug, Clone, Deserialize)]
pub struct Next {
    pub id: String,
    pub title: String,
    pub priority: u8,
}

/// Something that needs a person.
#[derive(Debug, Clone, Deserialize)]
pub struct Need {
    pub need: String,
    pub id: String,
    pub title: String,
    pub actor: Option<String>,
    pub text: Option<String>,
}

/// Why the sync fails.
#[derive(Debug, Clone)]
pub struct SyncTrouble {
    pub since_ms: u64,
    pub message: String,
    pub attempts: u64,
    pub waiting: u64,
}

/// The progress of an epic.
#[derive(Debug, Clone)]
pub struct Epic {
    pub title: String,
    pub closed: usize,
    pub total: usize,
}

/// A note as it came.
#[derive(Debug, Clone)]
pub struct NoteLine {
    pub at_ms: u64,
    pub by: String,
    pub id: String,
    pub text: String,
}

#[derive(Debug, Deserialize)]
struct Status {
    summary: Summary,
    git_dir: std::path::PathBuf,
    #[serde(default)]
    questions: Vec<Question>,
    #[serde(default)]
    stuck: Vec<String>,
    #[serde(default)]
    waiting: Vec<Need>,
    sync: Sync,
}

#[derive(Debug, Deserialize)]
struct Summary {
    ready_issues: usize,
}

#[derive(Debug, Deserialize)]
struct Question {
    id: String,
    title: String,
    question: String,
    text: String,
    asked_by: String,
    at: String,
    waiting: usize,
}

#[derive(Debug, Deserialize)]
struct Sync {
    unsynced: u64,
    last_error: Option<SyncError>,
}

#[derive(Debug, Deserialize)]
struct SyncError {
    message: String,
    since: String,
    attempts: u64,
}

#[derive(Debug, Default, Deserialize)]
struct Graph {
    nodes: Vec<GraphNode>,
    edges: Vec<GraphEdge>,
}

#[derive(Debug, Deserialize)]
struct GraphNode {
    id: String,
    title: String,
}

#[derive(Debug, Deserialize)]
struct GraphEdge {
    from: String,
    to: String,
    kind: String,
}

impl Snapshot {
    /// Asks the store. Closed beads are counted from `since_ms`.
    pub fn of(store: &dyn Store, since_ms: u64) -> Result<Self, Failure> {
        let now_ms = store.clock().now_ms;
        let status: Status = ask(store, Query::Status)?;
        let since = Timestamp::from_ms(since_ms)?;
        let workers: Vec<Worker> = ask(store, Query::Agents { since })?;
        let graph: Graph = ask(store, Query::Graph { id: None, closed: false, format: GraphFormat::Text })?;
        let filter = Filter { limit: Some(NEXT), ..Filter::default() };
        let next: Vec<Next> = ask(store, Query::Ready(ReadyFilter { filter, under: None }))?;
        let cycles: Vec<Value> = ask(store, Query::Cycles)?;
        let epics: Vec<Value> = ask(store, Query::Epics)?;
        let notes = ActivityQuery {
            actor: None,
            bead: None,
            kinds: vec![EventKind::Note],
            since: None,
            limit: Some(NOTES),
        };
        let notes: Value = ask(store, Query::Activity(notes))?;
        let name = repository_name(&status.git_dir);
        Ok(Self {
            name,
            now_ms,
            closed: workers.iter().map(|worker| worker.closed).sum(),
            stuck: stuck(&status, &workers, &graph, &cycles),
            agents: agents(&workers),
            next,
            ready: status.summary.ready_issues,
            sync: status.sync.last_error.map(|error| SyncTrouble {
                since_ms: ms(&error.since).unwrap_or(now_ms),
                message: error.message,
                attempts: error.attempts,
                waiting: status.sync.unsynced,
            }),
            needs: status.waiting,
            epics: epics.iter().map(epic).collect(),
            notes: notes["events"].as_array().into_iter().flatten().rev().filter_map(note).collect(),
        })
    }

    /// Returns how many agents work, and how many there are.
    pub fn working(&self) -> (usize, usize) {
        let works = |agent: &&Agent| agent.state == WorkerState::Working;
        (self.agents.iter().filter(works).count(), self.agents.len())
    }
}

fn ask<T: DeserializeOwned>(store: &dyn Store, query: Query) -> Result<T, Failure> {
    let answer = store.ask(Call::query(query))?;
    serde_json::from_value(answer).map_err(Failure::internal)
}

/// Returns the name of the directory that holds the repository.
fn repository_name(git_dir: &std::path::Path) -> String {
    let is_git = |name: &std::ffi::OsStr| name == ".git" || name == ".beads";
    let directory = match git_dir.file_name() {
        Some(name) if is_git(name) => git_dir.parent(),
        _ => Some(git_dir),
    };
    let name = directory.and_then(|directory| directory.file_name());
    name.map_or_else(|| "beads".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn ms(time: &str) -> Option<u64> {
    time.parse::<Timestamp>().ok().map(Timestamp::ms)
}

/// Returns the beads that cannot go on, those that most beads wait for first.
fn stuck(status: &Status, workers: &[Worker], graph: &Graph, cycles: &[Value]) -> Vec<Stuck> {
    let behind = Behind::new(graph);
    let title = |id: &str| {
        let node = graph.nodes.iter().find(|node| node.id == id);
        node.map(|node| node.title.clone()).unwrap_or_default()
    };
    let mut stuck: Vec<Stuck> = status.questions.iter().map(question).collect();
    for worker in workers {
        let held = worker.holds.iter().filter(|held| !held.offered);
        stuck.extend(held.filter_map(|held| holder_trouble(worker, held, &behind)));
    }
    for id in &status.stuck {
        stuck.push(Stuck {
            word: "free",
            title: title(id),
            why: Why::NoClaim,
            detail: "in progress without a holder".to_owned(),
            waiting: behind.count(id),
            question: None,
            holder: None,
            id: id.clone(),
        });
    }
    for cycle in cycles {
        let ids: Vec<&str> =
            cycle["ids"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let [id, others @ ..] = ids.as_slice() else { continue };
        stuck.push(Stuck {
            word: "loop",
            id: (*id).to_owned(),
            title: title(id),
            why: Why::CycleWith(others.iter().find(|other| *other != id).unwrap_or(id).to_string()),
            detail: format!("cycle: {}", ids.join(" -> ")),
            waiting: behind.count(id),
            question: None,
            holder: None,
        });
    }
    stuck.sort_by(|a, b| (b.waiting, &a.id).cmp(&(a.waiting, &b.id)));
    stuck
}

fn question(asked: &Question) -> Stuck {
    Stuck {
        word: "you",
        id: asked.id.clone(),
        title: asked.title.clone(),
        why: Why::AsksSince(ms(&asked.at).unwrap_or(0)),
        detail: format!("{}: {}", asked.asked_by, asked.text.lines().next().unwrap_or_default()),
        waiting: asked.waiting,
        question: Some(asked.question.clone()),
        holder: Some(asked.asked_by.clone()),
    }
}

/// Returns a held bead whose holder makes no progress. A holder that is gone does no harm if nothing waits.
fn holder_trouble(worker: &Worker, held: &HeldBead, behind: &Behind<'_>) -> Option<Stuck> {
    let waiting = behind.count(held.id.as_str());
    let since =
        |time: Option<&String>| time.and_then(|time| ms(time)).or_else(|| ms(&held.since)).unwrap_or(0);
    let actor = worker.actor.as_str();
    let (word, why, detail) = match worker.state {
        WorkerState::Hung => {
            let since = since(worker.last_write.as_ref());
            ("slow", Why::NoNoteSince(since), format!("{actor} answers and renews, but writes nothing"))
        }
        WorkerState::Dead if waiting > 0 => {
            let since = since(worker.last_seen.as_ref());
            ("gone", Why::NoSignSince(since), format!("{actor} gave no sign"))
        }
        _ => return None,
    };
    Some(Stuck {
        word,
        id: held.id.to_string(),
        title: held.title.to_string(),
        why,
        detail,
        waiting,
        question: None,
        holder: Some(actor.to_owned()),
    })
}

/// Counts the beads that wait for a bead, directly or through others.
struct Behind<'a> {
    dependents: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Behind<'a> {
    fn new(graph: &'a Graph) -> Self {
        let mut dependents: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for edge in graph.edges.iter().filter(|edge| edge.kind == "blocks") {
            dependents.entry(edge.to.as_str()).or_default().push(&edge.from);
        }
        Self { dependents }
    }

    fn count(&self, id: &str) -> usize {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open = vec![id];
        while let Some(one) = open.pop() {
            let dependents = self.dependents.get(one).map(Vec::as_slice).unwrap_or_default();
            open.extend(dependents.iter().copied().filter(|dependent| seen.insert(dependent)));
        }
        seen.len() - usize::from(seen.contains(id))
    }
}

/// Returns the agents, trouble first, then by name.
fn agents(workers: &[Worker]) -> Vec<Agent> {
    // Someone who only filed beads is no agent, as on the board.
    let is_agent =
        |one: &&Worker| !one.holds.is_empty() || one.closed > 0 || one.notes > 0 || !one.sessions.is_empty();
    let mut agents: Vec<Agent> = workers.iter().filter(is_agent).map(agent).collect();
    let rank = |state: WorkerState| match state {
        WorkerState::Dead => 0,
        WorkerState::Hung => 1,
        WorkerState::Working => 2,
        WorkerState::Idle => 3,
        WorkerState::Quiet => 4,
    };
    agents.sort_by(|a, b| (rank(a.state), &a.name).cmp(&(rank(b.state), &b.name)));
    agents
}

fn agent(worker: &Worker) -> Agent {
    let held = worker.holds.iter().find(|held| !held.offered).or(worker.holds.first());
    let more = worker.holds.len().saturating_sub(1);
    let title = match held {
        Some(held) if more > 0 => format!("{} (and {more} more)", held.title.as_str()),
        Some(held) => held.title.to_string(),
        None => format!("waits for work, closed {}", worker.closed),
    };
    Agent {
        state: worker.state,
        name: worker.actor.to_string(),
        id: held.map(|held| held.id.to_string()),
        title,
        seen_ms: worker.last_seen.as_deref().and_then(ms),
        since_ms: held.and_then(|held| ms(&held.since)),
    }
}

fn epic(value: &Value) -> Epic {
    let count = |name: &str| value[name].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    Epic {
        title: value["epic"]["title"].as_str().unwrap_or_default().to_owned(),
        closed: count("closed_children"),
        total: count("total_children"),
    }
}

fn note(value: &Value) -> Option<NoteLine> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    Some(NoteLine {
        at_ms: ms(value["at"].as_str()?)?,
        by: text("by").unwrap_or_default(),
        id: text("id")?,
        text: text("text").unwrap_or_default(),
    })
}
