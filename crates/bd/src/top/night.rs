//! *Last night*: what was closed in the period, by which agent, and what went wrong.

use serde_json::Value;

use super::beads::Beads;
use super::snapshot::{NoteLine, note};

/// The most characters of an incident's words that are kept.
const MOST_TEXT: usize = 200;

/// What happened in the period.
#[derive(Debug, Clone, Default)]
pub struct Night {
    pub created: usize,
    /// When beads were closed.
    pub closed_at: Vec<u64>,
    /// How many agents closed some.
    pub closers: usize,
    /// The median time from claim to close.
    pub median_ms: Option<u64>,
    /// The newest first.
    pub incidents: Vec<Incident>,
    /// Which incidents the log does not have.
    pub missing: Option<Missing>,
}

/// What the log of this machine lacks of the period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Everything before a time, at which the log begins.
    Before(u64),
    /// Something in between.
    Gap,
}

/// Something that went wrong, or could have.
#[derive(Debug, Clone)]
pub struct Incident {
    pub word: &'static str,
    pub what: String,
    pub line: NoteLine,
}

impl Night {
    pub fn new(beads: &Beads, incidents: &[Value], since_ms: u64) -> Self {
        let closed = || beads.iter().filter(|bead| bead.closed.is_some() && !bead.is_epic());
        let mut closers: Vec<&str> = closed().filter_map(|bead| bead.closer.as_deref()).collect();
        closers.sort_unstable();
        closers.dedup();
        let took = closed().filter_map(|bead| bead.closed?.checked_sub(bead.claimed?));
        Self {
            created: beads.iter().filter(|bead| bead.created >= since_ms && !bead.is_epic()).count(),
            closed_at: closed().filter_map(|bead| bead.closed).collect(),
            closers: closers.len(),
            median_ms: median(took.collect()),
            incidents: incidents.iter().rev().filter_map(incident).collect(),
            missing: None,
        }
    }

    /// Counts the incidents with a word.
    pub fn count(&self, word: &str) -> usize {
        self.incidents.iter().filter(|one| one.word == word).count()
    }
}

/// Returns the value in the middle.
pub fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

fn incident(event: &Value) -> Option<Incident> {
    let (word, what) = match event["type"].as_str()? {
        "asked" => ("you", "asked"),
        "conflict" => ("both", "two machines wrote one field"),
        "expired" => ("gone", "its lease ended"),
        "reopened" => ("back", "reopened"),
        "cancelled" => ("drop", "cancelled"),
        "sync_failed" => ("sync", "the sync failed"),
        "sync_recovered" => ("sync", "the sync works again"),
        _ => return None,
    };
    let text = event["text"].as_str().and_then(|text| text.lines().next()).unwrap_or_default();
    let text: String = text.chars().take(MOST_TEXT).collect();
    let what = if text.is_empty() { what.to_owned() } else { format!("{what}: {text}") };
    // The sync is about no bead.
    let mut event = event.clone();
    if event["id"].is_null() {
        event["id"] = Value::String(String::new());
    }
    Some(Incident { word, what, line: note(&event, "title")? })
}
