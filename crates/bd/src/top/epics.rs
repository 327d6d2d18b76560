//! The progress of the epics, and when each can be done at the earliest.

use std::collections::BTreeMap;

use beads_core::Status;
use serde_json::Value;

use super::beads::Beads;

/// The progress of an epic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epic {
    pub title: String,
    pub closed: usize,
    pub held: usize,
    pub total: usize,
    pub end: End,
}

/// When an epic is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At the earliest, by the estimates and what waits for what.
    At(u64),
    /// A question in it waits for the reader.
    WaitsForYou,
    /// Everything in it is closed, or some of it waits in a cycle.
    Unknown,
}

impl Epic {
    /// Returns how many beads are neither closed nor in hand.
    pub fn left(&self) -> usize {
        self.total.saturating_sub(self.closed + self.held)
    }
}

/// What is known of the unfinished beads of an epic.
#[derive(Debug, Default)]
struct Members {
    held: usize,
    asks: bool,
    /// The latest end, unless one of them has none.
    end: Option<u64>,
    is_endless: bool,
}

/// Returns the epics in the order of `bd epic status`, those without children left out.
pub fn epics(progress: &[Value], beads: &Beads) -> Vec<Epic> {
    let ends = beads.ends();
    let mut members: BTreeMap<&str, Members> = BTreeMap::new();
    for bead in beads.iter().filter(|bead| bead.is_open() && !bead.is_epic()) {
        // A bead counts for each epic above it, as their progress does for the nearest one.
        let mut above: Vec<&str> = bead.parent.as_deref().into_iter().collect();
        above.extend(beads.top_of(bead).filter(|top| Some(*top) != bead.parent.as_deref()));
        for epic in above {
            let one = members.entry(epic).or_default();
            one.held +=
                usize::from(bead.status == Status::InProgress && Some(epic) == bead.parent.as_deref());
            one.asks |= bead.asks;
            match ends.get(bead.id.as_str()) {
                Some(end) => one.end = one.end.max(Some(*end)),
                None => one.is_endless = true,
            }
        }
    }
    let epic = |value: &Value| {
        let count = |name: &str| value[name].as_u64().and_then(|count| usize::try_from(count).ok());
        let id = value["epic"]["id"].as_str().unwrap_or_default();
        let known = members.remove(id).unwrap_or_default();
        let end = match known.end {
            _ if known.asks => End::WaitsForYou,
            Some(end) if !known.is_endless => End::At(end),
            _ => End::Unknown,
        };
        let (closed, total) = (count("closed_children").unwrap_or(0), count("total_children").unwrap_or(0));
        Epic {
            title: value["epic"]["title"].as_str().unwrap_or_default().to_owned(),
            closed,
            held: known.held.min(total - closed.min(total)),
            total,
            end,
        }
    };
    progress.iter().map(epic).filter(|epic| epic.total > 0).collect()
}
