//! The unfinished beads and those closed lately, and what follows from their edges.

use std::collections::{BTreeMap, BTreeSet};

use beads_core::op::Fence;
use beads_core::{BeadType, Status};
use serde::Deserialize;

/// An estimate for beads without one, as `bd plan` and the board use it.
const DEFAULT_MINUTES: u64 = 60;

/// How deep epics may be nested.
const DEPTH: usize = 50;

/// A bead in brief, as the query `overview` returns it. Times are in milliseconds since 1970.
#[derive(Debug, Clone, Deserialize)]
pub struct Bead {
    pub id: String,
    pub title: String,
    pub status: Status,
    pub word: Option<String>,
    pub priority: u8,
    #[serde(rename = "type")]
    pub kind: BeadType,
    pub parent: Option<String>,
    #[serde(default)]
    pub after: Vec<String>,
    /// When each of these edges was added, unless all are as old as the bead.
    #[serde(default)]
    pub linked: Vec<u64>,
    pub assignee: Option<String>,
    pub claimed: Option<u64>,
    /// The fence of the claim.
    fence: Option<String>,
    pub created: u64,
    pub updated: u64,
    pub closed: Option<u64>,
    pub closer: Option<String>,
    pub minutes: Option<u32>,
    pub due: Option<u64>,
    pub deferred: Option<u64>,
    #[serde(default)]
    pub asks: bool,
}

impl Bead {
    pub fn is_open(&self) -> bool {
        self.status != Status::Closed
    }

    /// Returns the fence of the claim.
    pub fn fence(&self) -> Option<Fence> {
        self.fence.as_ref()?.parse().ok()
    }

    pub fn is_epic(&self) -> bool {
        self.kind == BeadType::Epic
    }

    /// Returns when it can be done if it starts at `start`.
    fn end_from(&self, start: u64, now_ms: u64) -> u64 {
        let used = match self.claimed {
            Some(claimed) if self.status == Status::InProgress => now_ms.saturating_sub(claimed),
            _ => 0,
        };
        let takes = self.minutes.map_or(DEFAULT_MINUTES, u64::from) * 60_000;
        start.saturating_add(takes.saturating_sub(used))
    }
}

/// The beads by id, with the edges in both directions.
#[derive(Debug)]
pub struct Beads {
    all: BTreeMap<String, Bead>,
    /// The unfinished beads that wait for a bead.
    waiting: BTreeMap<String, Vec<String>>,
    now_ms: u64,
}

impl Beads {
    pub fn new(beads: Vec<Bead>, now_ms: u64) -> Self {
        let mut waiting: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for bead in beads.iter().filter(|bead| bead.is_open()) {
            for before in &bead.after {
                waiting.entry(before.clone()).or_default().push(bead.id.clone());
            }
        }
        let all = beads.into_iter().map(|bead| (bead.id.clone(), bead)).collect();
        Self { all, waiting, now_ms }
    }

    pub fn get(&self, id: &str) -> Option<&Bead> {
        self.all.get(id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Bead> {
        self.all.values()
    }

    /// Iterates over the unfinished beads that a bead waits for.
    pub fn blockers<'a>(&'a self, bead: &'a Bead) -> impl Iterator<Item = &'a Bead> {
        bead.after.iter().filter_map(|id| self.get(id)).filter(|before| before.is_open())
    }

    /// Returns whether a bead is open and waits for others, or is set to `blocked`.
    pub fn is_blocked(&self, bead: &Bead) -> bool {
        let is_set = || bead.word.as_deref() == Some("blocked");
        bead.status == Status::Open && (self.blockers(bead).next().is_some() || is_set())
    }

    /// Returns whether a bead can be worked on now.
    pub fn is_ready(&self, bead: &Bead) -> bool {
        let is_deferred = bead.deferred.is_some_and(|until| until > self.now_ms)
            || bead.word.as_deref() == Some("deferred");
        bead.status == Status::Open && !self.is_blocked(bead) && !is_deferred
    }

    /// Returns the unfinished beads that wait for a bead, directly or through others.
    pub fn behind<'a>(&'a self, id: &str) -> BTreeSet<&'a str> {
        let next = |id: &str| self.waiting.get(id).map(Vec::as_slice).unwrap_or_default();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&String> = next(id).iter().collect();
        while let Some(one) = open.pop() {
            if one != id && seen.insert(one) {
                open.extend(next(one));
            }
        }
        seen
    }

    /// Returns the id of the topmost ancestor of a bead that is known.
    pub fn top_of<'a>(&'a self, bead: &'a Bead) -> Option<&'a str> {
        let mut top = bead.parent.as_deref()?;
        for _ in 0..DEPTH {
            let Some(parent) = self.get(top).and_then(|bead| bead.parent.as_deref()) else { break };
            top = parent;
        }
        Some(top)
    }

    /// Returns when each bead can be done at the earliest, if enough agents work. Beads that wait for a cycle
    /// are missing.
    pub fn ends(&self) -> BTreeMap<&str, u64> {
        let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        let mut ready: Vec<&Bead> = Vec::new();
        for bead in self.iter().filter(|bead| bead.is_open()) {
            match self.blockers(bead).count() {
                0 => ready.push(bead),
                count => {
                    left.insert(&bead.id, count);
                }
            }
        }
        while let Some(bead) = ready.pop() {
            let start = self.blockers(bead).filter_map(|before| ends.get(before.id.as_str()).copied()).max();
            ends.insert(&bead.id, bead.end_from(start.unwrap_or(self.now_ms), self.now_ms));
            for id in self.waiting.get(&bead.id).map(Vec::as_slice).unwrap_or_default() {
                let Some(count) = left.get_mut(id.as_str()) else { continue };
                *count -= 1;
                if *count == 0 {
                    ready.extend(self.get(id));
                }
            }
        }
        ends
    }
}
