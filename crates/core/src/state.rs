//! All that a replica knows: beads and edges by lineage, and the prefix. A join-semilattice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::snapshot::FIRST_FORMAT_VERSION;
use crate::{
    Bead, Conflict, ConflictId, Edge, EdgeKey, Floor, Lineage, MintedStoreId, Names, PrefixRegister,
    Settings, SharedMap, Stamp,
};

/// Beads are shared, and so are the maps that hold them: a snapshot of a state costs next to nothing.
#[derive(Debug, Clone)]
pub struct State {
    pub(crate) beads: SharedMap<Lineage, Arc<Bead>>,
    pub(crate) edges: SharedMap<EdgeKey, Edge>,
    pub(crate) prefix: PrefixRegister,
    pub(crate) conflicts: BTreeMap<ConflictId, Conflict>,
    /// Deletions before this may be forgotten; see [`State::collect_garbage`].
    pub(crate) gc_floor: Floor,
    pub(crate) settings: Settings,
    pub(crate) store_id: Option<MintedStoreId>,
    /// The first format that can hold everything here. It never falls.
    pub(crate) format_version: u64,
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
            gc_floor: Floor::NONE,
            settings: Settings::new(),
            store_id: None,
            format_version: FIRST_FORMAT_VERSION,
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
            && self.settings == other.settings
            && self.store_id == other.store_id
            && self.format_version == other.format_version
    }
}

impl State {
    /// Whether nothing was written to either since one was copied from the other. Equal states may be no such copies; this costs
    /// next to nothing.
    pub fn is_same_copy(&self, other: &Self) -> bool {
        self.beads.is_same_copy(&other.beads)
            && self.edges.is_same_copy(&other.edges)
            && self.prefix == other.prefix
            && self.conflicts.len() == other.conflicts.len()
            && self.gc_floor == other.gc_floor
            && self.settings == other.settings
    }

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

    pub fn gc_floor(&self) -> Floor {
        self.gc_floor
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The value of a replicated setting; `None` when it was never set or was cleared.
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.settings.get(key).and_then(|register| register.value.non_empty())
    }

    pub fn store_id(&self) -> Option<&MintedStoreId> {
        self.store_id.as_ref()
    }

    pub fn format_version(&self) -> u64 {
        self.format_version
    }

    /// Writes at least this version from now on.
    pub fn raise_format(&mut self, version: u64) {
        self.format_version = self.format_version.max(version);
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Every stamp in the state, for a clock that wants to follow.
    pub fn stamps(&self) -> impl Iterator<Item = Stamp> + '_ {
        let beads = self.beads.iter().flat_map(|(lineage, bead)| bead.stamps().chain([lineage.at()]));
        let edges = self.edges.values().map(|edge| edge.changed.at());
        let settings = self.settings.values().map(|register| register.mark.at());
        beads.chain(edges).chain(settings).chain(self.prefix.mark.iter().map(crate::Mark::at))
    }
}
