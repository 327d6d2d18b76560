//! All that a replica knows: beads and edges by lineage, and the prefix. A join-semilattice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Bead, Edge, EdgeKey, Lineage, Names, PrefixRegister};

/// Beads are shared, so that a reader's snapshot of a state is cheap.
#[derive(Debug, Clone, Default)]
pub struct State {
    pub(crate) beads: BTreeMap<Lineage, Arc<Bead>>,
    pub(crate) edges: BTreeMap<EdgeKey, Edge>,
    pub(crate) prefix: PrefixRegister,
    pub(crate) names: Names,
    /// Edges with an end that no bead holds; almost always none.
    pub(crate) bare_edges: BTreeSet<EdgeKey>,
}

/// Names and bare edges follow from the rest.
impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.beads == other.beads && self.edges == other.edges && self.prefix == other.prefix
    }
}

impl State {
    pub fn beads(&self) -> &BTreeMap<Lineage, Arc<Bead>> {
        &self.beads
    }

    pub fn bead(&self, lineage: &Lineage) -> Option<&Arc<Bead>> {
        self.beads.get(lineage)
    }

    pub fn edges(&self) -> &BTreeMap<EdgeKey, Edge> {
        &self.edges
    }

    pub fn edge(&self, key: &EdgeKey) -> Option<&Edge> {
        self.edges.get(key)
    }

    pub fn prefix(&self) -> &PrefixRegister {
        &self.prefix
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Every stamp in the state, for a clock that wants to follow.
    pub fn stamps(&self) -> impl Iterator<Item = crate::Stamp> + '_ {
        let beads = self.beads.iter().flat_map(|(lineage, bead)| bead.stamps().chain([lineage.at()]));
        let edges = self.edges.values().map(|edge| edge.changed.at());
        beads.chain(edges).chain(self.prefix.mark.iter().map(crate::Mark::at))
    }
}
