//! What needs a person: the list of *Needs you*, whose first part is *Stuck*.

use std::collections::BTreeMap;

use beads_core::op::Fence;
use beads_core::query::{HeldBead, Worker, WorkerState};
use beads_engine::request::LocalClock;
use serde_json::Value;

use super::agents::is_unknown;
use super::beads::{Bead, Beads};
use super::rows::without_host;
use super::snapshot::{Answers, NoteLine, ms};
use super::wording::{duration, time};

/// A ready bead that did not change for this long is stale.
const STALE_MS: u64 = 14 * 24 * 60 * 60 * 1_000;

/// The most stale beads that are listed.
const MOST_STALE: usize = 20;

/// Something that no agent continues by itself.
#[derive(Debug, Clone)]
pub struct Matter {
    pub why: Why,
    pub id: String,
    pub title: String,
    pub priority: u8,
    /// How many beads wait behind it.
    pub waiting: usize,
    pub since_ms: u64,
    pub holder: Option<String>,
    /// The fence of its claim.
    pub fence: Option<Fence>,
    /// The name of the holder as it is shown.
    shown: String,
}

/// Why a bead needs a person.
#[derive(Debug, Clone)]
pub enum Why {
    /// An agent asks. `question` is the note that holds the question.
    Asks { by: String, text: String, question: String },
    /// The holder gives signs of life, but writes nothing.
    NoNote { last: Option<String> },
    /// The holder gave no sign of life.
    NoSign { lease_ms: Option<u64> },
    /// It is in progress without a claim.
    NoHolder,
    /// It waits for itself, through the others.
    Cycle { others: Vec<String>, newest_ms: Option<u64> },
    /// It is blocked by its status.
    Blocked,
    /// Two machines wrote the same field.
    Conflict { field: String, lost: String, won: Option<String> },
    /// All children of an epic are closed.
    ChildrenClosed,
    /// It is assigned to the reader.
    Yours,
    /// It is past its due date.
    Overdue { place: Option<usize> },
    /// It is ready and did not change.
    Stale,
}

impl Matter {
    /// Returns whether work cannot go on because of it. A holder that is gone does no harm if nothing waits.
    pub fn is_stuck(&self) -> bool {
        match self.why {
            Why::NoSign { .. } => self.waiting > 0,
            Why::Asks { .. } | Why::NoNote { .. } | Why::NoHolder | Why::Cycle { .. } | Why::Blocked => true,
            Why::Conflict { .. } | Why::ChildrenClosed | Why::Yours | Why::Overdue { .. } | Why::Stale => {
                false
            }
        }
    }

    /// Returns the word of its kind, which stands where other screens use a color.
    pub fn word(&self) -> &'static str {
        match self.why {
            Why::Asks { .. } => "you",
            Why::NoNote { .. } => "slow",
            Why::NoSign { .. } => "gone",
            Why::NoHolder => "free",
            Why::Cycle { .. } => "loop",
            Why::Blocked => "hold",
            Why::Conflict { .. } => "both",
            Why::ChildrenClosed => "done",
            Why::Yours => "mine",
            Why::Overdue { .. } => "late",
            Why::Stale => "old",
        }
    }

    /// Returns the key that ends it.
    pub fn key(&self) -> &'static str {
        match self.why {
            Why::Asks { .. } => "enter answer",
            Why::NoNote { .. } => "m message",
            Why::NoSign { .. } => "t take back",
            Why::ChildrenClosed | Why::Stale => "x close",
            Why::Overdue { .. } => "p priority",
            _ => "enter",
        }
    }

    /// Returns the question that an answer belongs to.
    pub fn question(&self) -> Option<&str> {
        match &self.why {
            Why::Asks { question, .. } => Some(question),
            _ => None,
        }
    }

    /// Returns the reason in a few words.
    pub fn reason(&self, now_ms: u64, clock: &LocalClock) -> String {
        let lasts = || duration(now_ms.saturating_sub(self.since_ms));
        match &self.why {
            Why::Asks { .. } => format!("asked you at {}", time(clock, self.since_ms)),
            Why::NoNote { .. } => format!("no note for {}", lasts()),
            Why::NoSign { .. } => format!("no sign for {}", lasts()),
            Why::NoHolder => "no holder".to_owned(),
            Why::Cycle { others, .. } => {
                format!("cycle with {}", others.first().unwrap_or(&self.id))
            }
            Why::Blocked => "set to blocked".to_owned(),
            Why::Conflict { field, .. } => format!("two wrote {field}"),
            Why::ChildrenClosed => "all children closed".to_owned(),
            Why::Yours => "assigned to you".to_owned(),
            Why::Overdue { .. } => format!("due {} ago", lasts()),
            Why::Stale => format!("unchanged for {}", lasts()),
        }
    }

    /// Returns what is known about it, in a sentence.
    pub fn evidence(&self, now_ms: u64, clock: &LocalClock) -> String {
        let lasts = || duration(now_ms.saturating_sub(self.since_ms));
        let holder = &self.shown;
        match &self.why {
            Why::Asks { by, text, .. } => format!("{by}: {text}"),
            Why::NoNote { last: Some(last) } => format!("{holder} answers and renews. Last: {last}"),
            Why::NoNote { last: None } => format!("{holder} answers and renews, but writes nothing"),
            Why::NoSign { lease_ms } => {
                let lease = match lease_ms {
                    Some(end) if *end > now_ms => format!("; lease until {}", time(clock, *end)),
                    Some(_) => "; its lease has ended".to_owned(),
                    None => String::new(),
                };
                format!("{holder} gave no sign for {}{lease}", lasts())
            }
            Why::NoHolder => "in progress, but no agent holds it".to_owned(),
            Why::Cycle { newest_ms: Some(at), .. } => format!("newer edge at {}", time(clock, *at)),
            Why::Cycle { others, newest_ms: None } => format!("waits for {}", others.join(", ")),
            Why::Blocked => "blocked by its status, not by a bead".to_owned(),
            Why::Conflict { field, lost, won } => {
                let won = won.as_deref().unwrap_or("another machine");
                format!("{field}: {won} overwrote {lost} at {}", time(clock, self.since_ms))
            }
            Why::ChildrenClosed => "all children are closed".to_owned(),
            Why::Yours => "assigned to you".to_owned(),
            Why::Overdue { place } => {
                let place = place.map(|place| format!(", {} in the queue", ordinal(place)));
                format!("due {} ago{}", lasts(), place.unwrap_or_default())
            }
            Why::Stale => format!("ready, unchanged for {}", lasts()),
        }
    }

    /// Orders by what a person should see first: urgent beads, those that others wait for, the oldest.
    fn rank(&self) -> (u8, u8, std::cmp::Reverse<usize>, u64) {
        let rank = match self.why {
            Why::Stale => 2,
            Why::ChildrenClosed | Why::Yours | Why::Overdue { .. } => 1,
            _ => 0,
        };
        (rank, self.priority, std::cmp::Reverse(self.waiting), self.since_ms)
    }
}

/// Spells a place: 1st, 2nd, 11th.
fn ordinal(place: usize) -> String {
    let ending = match (place % 100, place % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{place}{ending}")
}

/// Finds everything that needs a person.
pub struct Finder<'a> {
    pub answers: &'a Answers,
    pub beads: &'a Beads,
    pub notes: &'a [NoteLine],
    pub now_ms: u64,
}

impl Finder<'_> {
    /// Returns what needs a person: the most urgent first, then what most beads wait for. Also returns how many stale
    /// beads are not listed.
    pub fn all(&self) -> (Vec<Matter>, usize) {
        let mut found = self.questions();
        found.extend(self.holders());
        found.extend(self.conflicts());
        found.extend(self.cycles());
        found.extend(self.by_status());
        found.extend(self.overdue());
        let (stale, unlisted) = self.stale();
        found.extend(stale);
        found.sort_by(|a, b| (a.rank(), &a.id).cmp(&(b.rank(), &b.id)));
        (found, unlisted)
    }

    fn matter(&self, id: &str, title: &str, since_ms: u64, why: Why) -> Matter {
        let bead = self.beads.get(id);
        Matter {
            why,
            id: id.to_owned(),
            title: bead.map_or(title, |bead| &bead.title).to_owned(),
            priority: bead.map_or(4, |bead| bead.priority),
            waiting: self.beads.behind(id).len(),
            since_ms,
            holder: bead.and_then(|bead| bead.assignee.clone()),
            fence: bead.and_then(Bead::fence),
            shown: String::new(),
        }
    }

    /// Returns the name of an actor as it is shown: the machine of the reader needs no name.
    fn shown(&self, actor: &str) -> String {
        without_host(actor, &self.answers.about.host).to_owned()
    }

    fn questions(&self) -> Vec<Matter> {
        let matter = |asked: &super::snapshot::Question| {
            let text = asked.text.lines().next().unwrap_or_default().to_owned();
            let (by, question) = (self.shown(&asked.asked_by), asked.question.clone());
            let since = ms(&asked.at).unwrap_or(0);
            let found = self.matter(&asked.id, &asked.title, since, Why::Asks { by, text, question });
            Matter { holder: Some(asked.asked_by.clone()), ..found }
        };
        self.answers.status.questions.iter().map(matter).collect()
    }

    fn holders(&self) -> Vec<Matter> {
        let troubled =
            self.answers.workers.iter().filter(|worker| !is_unknown(worker, self.answers, self.now_ms));
        let held = |worker: &Worker| worker.holds.iter().find(|held| !held.offered).cloned();
        troubled.filter_map(|worker| self.holder(worker, &held(worker)?)).collect()
    }

    fn holder(&self, worker: &Worker, held: &HeldBead) -> Option<Matter> {
        let actor = worker.actor.as_str();
        let since =
            |time: Option<&String>| time.and_then(|time| ms(time)).or_else(|| ms(&held.since)).unwrap_or(0);
        let (since_ms, why) = match worker.state {
            WorkerState::Hung => {
                let note = self.notes.iter().find(|note| note.id == held.id.as_str() && note.by == actor);
                let last = note.and_then(|note| note.text.lines().next()).map(str::to_owned);
                (since(worker.last_write.as_ref()), Why::NoNote { last })
            }
            WorkerState::Dead => {
                let lease_ms = held.expires.as_deref().and_then(ms);
                (since(worker.last_seen.as_ref()), Why::NoSign { lease_ms })
            }
            _ => return None,
        };
        let found = self.matter(held.id.as_str(), held.title.as_str(), since_ms, why);
        Some(Matter { holder: Some(actor.to_owned()), shown: self.shown(actor), ..found })
    }

    fn conflicts(&self) -> Vec<Matter> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let matter = |one: &Value| {
            let field = text(&one["field"]).filter(|field| field != "assignee")?;
            let why = Why::Conflict {
                field: field.replace('_', " "),
                lost: one["by"].as_str().map(|by| self.shown(by)).unwrap_or_default(),
                won: one["won_by"].as_str().map(|by| self.shown(by)),
            };
            let at = stamp_ms(&one["won_at"]).or_else(|| stamp_ms(&one["at"])).unwrap_or(0);
            Some(self.matter(&text(&one["bead"])?, &text(&one["title"]).unwrap_or_default(), at, why))
        };
        self.answers.conflicts.iter().filter_map(matter).collect()
    }

    fn cycles(&self) -> Vec<Matter> {
        let is_blocking = |cycle: &&Value| cycle["kind"].as_str().is_none_or(|kind| kind == "blocks");
        self.answers.cycles.iter().filter(is_blocking).filter_map(|cycle| self.cycle(cycle)).collect()
    }

    fn cycle(&self, cycle: &Value) -> Option<Matter> {
        let ids: Vec<&str> = cycle["ids"].as_array()?.iter().filter_map(Value::as_str).collect();
        let first = *ids.first()?;
        let others: Vec<String> = ids.iter().filter(|id| **id != first).map(|id| (*id).to_owned()).collect();
        let edges = ids.iter().filter_map(|id| self.beads.get(id)).flat_map(|bead| {
            let inside = bead.after.iter().enumerate().filter(|(_, to)| ids.contains(&to.as_str()));
            inside.map(|(index, _)| bead.linked.get(index).copied().unwrap_or(bead.created))
        });
        let newest_ms = edges.max();
        Some(self.matter(first, "", newest_ms.unwrap_or(0), Why::Cycle { others, newest_ms }))
    }

    /// Returns what the status of a bead says, as `bd status` lists it.
    fn by_status(&self) -> Vec<Matter> {
        let matter = |one: &super::snapshot::Waiting| {
            let why = match one.need.as_str() {
                "stuck" => Why::NoHolder,
                "blocked" => Why::Blocked,
                "close_epic" => Why::ChildrenClosed,
                "assigned" if one.actor.as_deref() == Some(&self.answers.about.actor) => Why::Yours,
                _ => return None,
            };
            Some(self.matter(&one.id, &one.title, ms(&one.since).unwrap_or(0), why))
        };
        self.answers.status.waiting.iter().filter_map(matter).collect()
    }

    fn overdue(&self) -> Vec<Matter> {
        let places: BTreeMap<&str, usize> =
            self.answers.next.iter().enumerate().map(|(index, next)| (next.id.as_str(), index + 1)).collect();
        let is_late = |bead: &&Bead| {
            bead.status == beads_core::Status::Open
                && !bead.is_epic()
                && bead.due.is_some_and(|due| due < self.now_ms)
        };
        let matter = |bead: &Bead| {
            let place = places.get(bead.id.as_str()).copied();
            self.matter(&bead.id, &bead.title, bead.due.unwrap_or(0), Why::Overdue { place })
        };
        self.beads.iter().filter(is_late).map(matter).collect()
    }

    /// Returns the most urgent stale beads, and how many others there are.
    fn stale(&self) -> (Vec<Matter>, usize) {
        let is_old = |bead: &&Bead| {
            let is_late = bead.due.is_some_and(|due| due < self.now_ms);
            let is_old = self.now_ms.saturating_sub(bead.updated) > STALE_MS;
            is_old && !is_late && !bead.is_epic() && self.beads.is_ready(bead)
        };
        let mut old: Vec<&Bead> = self.beads.iter().filter(is_old).collect();
        old.sort_by_key(|bead| (bead.priority, bead.updated, &bead.id));
        let matter = |bead: &&Bead| self.matter(&bead.id, &bead.title, bead.updated, Why::Stale);
        (old.iter().take(MOST_STALE).map(matter).collect(), old.len().saturating_sub(MOST_STALE))
    }
}

/// Returns the time of a stamp, which is written as `[ms, counter]`.
fn stamp_ms(stamp: &Value) -> Option<u64> {
    stamp.as_array()?.first()?.as_u64()
}
