//! The agents: what each holds, what is really known about it, and its timetable.

use beads_core::op::Fence;
use beads_core::query::{Worker, WorkerState};

use super::beads::Beads;
use super::snapshot::{Answers, ms};
use super::timetable::{Mark, Span};

/// What another machine said is current for this long after a sync.
const FRESH_MS: u64 = 5 * 60 * 1_000;

/// What is known about an agent, in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Gone,
    Slow,
    Work,
    Idle,
    /// It works on another machine, and nothing came from there lately.
    Unknown,
}

impl State {
    /// Returns the word that stands in its row.
    pub fn word(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Slow => "slow",
            Self::Work => "work",
            Self::Idle => "idle",
            Self::Unknown => "?",
        }
    }

    /// Returns the words for a count of them.
    pub fn counted(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Slow => "slow",
            Self::Work => "working",
            Self::Idle => "idle",
            Self::Unknown => "not heard of",
        }
    }

    pub const ALL: [Self; 5] = [Self::Gone, Self::Slow, Self::Work, Self::Idle, Self::Unknown];

    /// Returns whether it counts as working: an agent without progress does, too.
    pub fn works(self) -> bool {
        matches!(self, Self::Slow | Self::Work)
    }
}

/// An agent.
#[derive(Debug, Clone)]
pub struct Agent {
    pub state: State,
    pub name: String,
    pub id: Option<String>,
    /// The fence of its claim.
    pub fence: Option<Fence>,
    pub title: String,
    pub seen_ms: Option<u64>,
    pub since_ms: Option<u64>,
    /// Beads that it closed in the period.
    pub closed: usize,
    pub spans: Vec<Span>,
    /// When its longest lease ends.
    pub lease_ms: Option<u64>,
}

/// Returns the agents, trouble first, then by name.
pub fn agents(answers: &Answers, beads: &Beads, now_ms: u64) -> Vec<Agent> {
    // Someone who only filed beads is no agent, nor is the reader, whose session is this program.
    let is_agent = |one: &&Worker| {
        let is_reader = one.actor.as_str() == answers.about.actor;
        !one.holds.is_empty() || one.closed > 0 || one.notes > 0 || (!one.sessions.is_empty() && !is_reader)
    };
    let found = answers.workers.iter().filter(is_agent);
    let mut agents: Vec<Agent> = found.map(|worker| agent(worker, answers, beads, now_ms)).collect();
    agents.sort_by(|a, b| (a.state, &a.name).cmp(&(b.state, &b.name)));
    agents
}

fn agent(worker: &Worker, answers: &Answers, beads: &Beads, now_ms: u64) -> Agent {
    let state = state(worker, answers, now_ms);
    let held = worker.holds.iter().find(|held| !held.offered).or(worker.holds.first());
    let more = worker.holds.len().saturating_sub(1);
    let title = match held {
        Some(held) if more > 0 => format!("{} (and {more} more)", held.title.as_str()),
        Some(held) => held.title.to_string(),
        None if worker.closed > 0 => format!("waits for work, closed {}", worker.closed),
        None => "waits for work".to_owned(),
    };
    let seen_ms = match state {
        State::Unknown => answers.last_sync_ms(),
        _ => worker.last_seen.as_deref().and_then(ms),
    };
    Agent {
        state,
        name: worker.actor.to_string(),
        id: held.map(|held| held.id.to_string()),
        fence: held.and_then(|held| beads.get(held.id.as_str())?.fence()),
        title,
        seen_ms,
        since_ms: held.and_then(|held| ms(&held.since)),
        closed: worker.closed,
        spans: spans(worker, state, answers, beads),
        lease_ms: worker.holds.iter().filter_map(|held| held.expires.as_deref().and_then(ms)).max(),
    }
}

/// Says what is really known about an agent.
fn state(worker: &Worker, answers: &Answers, now_ms: u64) -> State {
    match worker.state {
        _ if is_unknown(worker, answers, now_ms) => State::Unknown,
        WorkerState::Dead => State::Gone,
        WorkerState::Hung => State::Slow,
        // It holds its lease, and its last sign stands beside it.
        WorkerState::Quiet | WorkerState::Working => State::Work,
        WorkerState::Idle => State::Idle,
    }
}

/// Returns whether an agent works on another machine from which nothing came lately: what is known of it is as
/// old as the last sync.
pub fn is_unknown(worker: &Worker, answers: &Answers, now_ms: u64) -> bool {
    let host = host(worker.actor.as_str());
    let is_elsewhere = host.is_some_and(|host| host != answers.about.host) && worker.sessions.is_empty();
    let holds = worker.holds.iter().any(|held| !held.offered);
    let is_old = answers.last_sync_ms().is_some_and(|at| now_ms.saturating_sub(at) > FRESH_MS);
    is_elsewhere && holds && is_old && worker.state != WorkerState::Working
}

/// Returns the machine of an agent: the part of its name after the `@`.
pub fn host(actor: &str) -> Option<&str> {
    let (_, rest) = actor.split_once('@')?;
    rest.split('/').next().filter(|host| !host.is_empty())
}

/// Returns what an agent did and does, in the order in which it is drawn.
fn spans(worker: &Worker, state: State, answers: &Answers, beads: &Beads) -> Vec<Span> {
    let actor = worker.actor.as_str();
    let mut spans: Vec<Span> = Vec::new();
    for bead in beads.iter().filter(|bead| bead.closer.as_deref() == Some(actor)) {
        if let (Some(claimed), Some(closed)) = (bead.claimed, bead.closed) {
            spans.push(Span { mark: Mark::Closed, from_ms: claimed, to_ms: Some(closed) });
        }
    }
    spans.sort_by_key(|span| span.from_ms);
    for held in worker.holds.iter().filter(|held| !held.offered) {
        let Some(since) = ms(&held.since) else { continue };
        let last = |time: Option<&String>| time.and_then(|time| ms(time)).unwrap_or(since).max(since);
        let (good, rest) = match state {
            State::Gone => (Some(last(worker.last_seen.as_ref())), Mark::NoSign),
            State::Slow => (Some(last(worker.last_write.as_ref())), Mark::NoNote),
            State::Unknown => (Some(answers.last_sync_ms().unwrap_or(since).max(since)), Mark::NotKnown),
            State::Work | State::Idle => (None, Mark::Held),
        };
        spans.push(Span { mark: Mark::Held, from_ms: since, to_ms: good });
        spans.extend(good.map(|from_ms| Span { mark: rest, from_ms, to_ms: None }));
    }
    spans
}
