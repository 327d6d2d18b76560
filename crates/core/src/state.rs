//! All that a replica knows: beads and edges by lineage, and the prefix. A join-semilattice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Bead, Conflict, ConflictId, Edge, EdgeKey, Lineage, Names, PrefixRegister, SharedMap, Stamp};

/// Beads are shared, and so are the maps that hold them: a snapshot of a state costs next to nothing.
#[derive(Debug, Clone)]
pub struct State {
    pub(crate) beads: SharedMap<Lineage, Arc<Bead>>,
    pub(crate) edges: SharedMap<EdgeKey, Edge>,
    pub(crate) prefix: PrefixRegister,
    pub(crate) conflicts: BTreeMap<ConflictId, Conflict>,
    /// Deletions before this may be forgotten; see [`State::collect_garbage`].
    pub(crate) gc_floor: Stamp,
    pub(crate) names: Names,
    /// Edges with an end that no bead holds; almost always none.
    pub(crate) bare_edges: BTreeSet<EdgeKey>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            beads: SharedMap::default(),
            edges: SharedMap::default(),
            prefix: PrefixRegister::default(),
            conflicts: BTreeMap::new(),
            gc_floor: Stamp::ZERO,
            names: Names::default(),
            bare_edges: BTreeSet::new(),
        }
    }
}

/// Names and bare edges follow from the rest.
impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.beads == other.beads
            && self.edges == other.edges
            && self.prefix == other.prefix
            && self.conflicts == other.conflicts
            && self.gc_floor == other.gc_floor
    }
}

impl State {
    pub fn beads(&self) -> &SharedMap<Lineage, Arc<Bead>> {
        &self.beads
    }

    pub fn bead(&self, lineage: &Lineage) -> Option<&Arc<Bead>> {
        self.beads.get(lineage)
    }

    pub fn edges(&self) -> &SharedMap<EdgeKey, Edge> {
        &self.edges
    }

    pub fn edge(&self, key: &EdgeKey) -> Option<&Edge> {
        self.edges.get(key)
    }

    pub fn prefix(&self) -> &PrefixRegister {
        &self.prefix
    }

    pub fn conflicts(&self) -> &BTreeMap<ConflictId, Conflict> {
        &self.conflicts
    }

    pub fn gc_floor(&self) -> Stamp {
        self.gc_floor
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Every stamp in the state, for a clock that wants to follow.
    pub fn stamps(&self) -> impl Iterator<Item = Stamp> + '_ {
        let beads = self.beads.iter().flat_map(|(lineage, bead)| bead.stamps().chain([lineage.at()]));
        let edges = self.edges.values().map(|edge| edge.changed.at());
        beads.chain(edges).chain(self.prefix.mark.iter().map(crate::Mark::at))
    }
}
