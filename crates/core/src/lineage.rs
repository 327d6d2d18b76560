//! Identity is the birth, not the id.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Actor, BeadId, Mark, Stamp};

/// The id a bead was born with, when, and by whom. Two beads that collide on an id still have two lineages,
/// so in memory and in the journal everything is keyed by lineage.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(BeadId, Stamp, Actor)", into = "(BeadId, Stamp, Actor)")]
pub struct Lineage(Arc<Birth>);

#[derive(PartialEq, Eq, Hash)]
struct Birth {
    id: BeadId,
    at: Stamp,
    by: Actor,
}

impl Lineage {
    pub fn new(id: BeadId, at: Stamp, by: Actor) -> Self {
        Self(Arc::new(Birth { id, at, by }))
    }

    /// Not after any other: where a search for all neighbours of a bead begins.
    pub(crate) fn earliest() -> Self {
        static EARLIEST: std::sync::LazyLock<Lineage> =
            std::sync::LazyLock::new(|| Lineage::new(BeadId::least(), Stamp::ZERO, Actor::least()));
        EARLIEST.clone()
    }

    pub fn birth_id(&self) -> &BeadId {
        &self.0.id
    }

    pub fn at(&self) -> Stamp {
        self.0.at
    }

    pub fn by(&self) -> &Actor {
        &self.0.by
    }

    pub fn mark(&self) -> Mark {
        Mark::new(self.at(), self.by().clone())
    }
}

/// Oldest first, which is also the order in which beads compete for ids (DESIGN §4).
impl Ord for Lineage {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        self.at()
            .cmp(&other.at())
            .then_with(|| self.by().cmp(other.by()))
            .then_with(|| self.birth_id().cmp(other.birth_id()))
    }
}

impl PartialOrd for Lineage {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl std::fmt::Debug for Lineage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({}@{})", self.birth_id(), self.at(), self.by())
    }
}

impl From<(BeadId, Stamp, Actor)> for Lineage {
    fn from((id, at, by): (BeadId, Stamp, Actor)) -> Self {
        Self::new(id, at, by)
    }
}

impl From<Lineage> for (BeadId, Stamp, Actor) {
    fn from(lineage: Lineage) -> Self {
        (lineage.birth_id().clone(), lineage.at(), lineage.by().clone())
    }
}
