//! The identity of a bead: its birth, not its id.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Actor, BeadId, Mark, Stamp};

/// The identity of a bead: its first id, its creation time and its creator. Two beads that collide on an id
/// have different lineages, so everything in memory and in the journal is keyed by lineage.
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
    /// Returns the lineage of a bead that `by` created at `at` with the id `id`.
    pub fn new(id: BeadId, at: Stamp, by: Actor) -> Self {
        Self(Arc::new(Birth { id, at, by }))
    }

    /// Returns a lineage that sorts before all others. Range scans start at it.
    pub(crate) fn earliest() -> Self {
        static EARLIEST: std::sync::LazyLock<Lineage> =
            std::sync::LazyLock::new(|| Lineage::new(BeadId::least(), Stamp::ZERO, Actor::least()));
        EARLIEST.clone()
    }

    /// Returns the id that the bead was created with.
    pub fn birth_id(&self) -> &BeadId {
        &self.0.id
    }

    /// Returns the creation time.
    pub fn at(&self) -> Stamp {
        self.0.at
    }

    /// Returns the creator.
    pub fn by(&self) -> &Actor {
        &self.0.by
    }

    /// Returns the mark of the write that created the bead.
    pub fn mark(&self) -> Mark {
        Mark::new(self.at(), self.by().clone())
    }
}

/// Orders beads by age, which also decides who keeps an id (DESIGN §4).
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
