//! The state: everything that a replica knows.

use std::collections::{BTreeMap, BTreeSet};

use crate::parts::in_parts;
use crate::snapshot::FIRST_FORMAT_VERSION;
use crate::{
    Clock, Conflict, ConflictId, Edge, EdgeKey, Floor, Lineage, MintedStoreId, Names, PrefixRegister,
    Settings, SharedBead, SharedMap, Stamp, is_sane,
};

/// Everything that a replica knows: beads and edges by lineage, conflicts, settings and the id prefix.
///
/// States form a join-semilattice; see the [crate documentation](crate). Cloning one is cheap, because clones
/// share their beads and the maps that hold them.
#[derive(Debug, Clone)]
pub struct State {
    pub(crate) beads: SharedMap<Lineage, SharedBead>,
    pub(crate) edges: SharedMap<EdgeKey, Edge>,
    pub(crate) prefix: PrefixRegister,
    pub(crate) conflicts: BTreeMap<ConflictId, Conflict>,
    /// Deletions below this floor are dropped; see [`State::collect_garbage`].
    pub(crate) gc_floor: Floor,
    pub(crate) settings: Settings,
    pub(crate) store_id: Option<MintedStoreId>,
    /// The lowest format version that can hold this state. It never decreases.
    pub(crate) format_version: u64,
    pub(crate) names: Names,
    /// Edges with an end whose id no bead holds. There are rarely any.
    pub(crate) bare_edges: BTreeSet<EdgeKey>,
    /// Beads that were joined with a hollow one, so that the archive may have more of them. See
    /// [`State::heal`].
    pub(crate) unhealed: BTreeSet<Lineage>,
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
            unhealed: BTreeSet::new(),
        }
    }
}

/// Ignores names and bare edges, because they are derived from the other fields, and what has to be healed.
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
    /// Returns whether one state is an unmodified copy of the other. This is much cheaper than `==`, but may
    /// return `false` for equal states that came about separately.
    pub fn is_same_copy(&self, other: &Self) -> bool {
        self.beads.is_same_copy(&other.beads)
            && self.edges.is_same_copy(&other.edges)
            && self.prefix == other.prefix
            && self.conflicts == other.conflicts
            && self.gc_floor == other.gc_floor
            && self.settings == other.settings
            && self.store_id == other.store_id
            && self.format_version == other.format_version
    }

    /// Shares the memory of beads and edges that are equal in `other`. This changes nothing in the state, and makes
    /// [`Delta::between`](crate::Delta::between) fast.
    pub fn share_memory_with(&mut self, other: &Self) {
        if let Some(beads) = self.beads.shared_with(&other.beads) {
            self.beads = beads;
        }
        if let Some(edges) = self.edges.shared_with(&other.edges) {
            self.edges = edges;
        }
    }

    /// Returns all beads, live and deleted.
    pub fn beads(&self) -> &SharedMap<Lineage, SharedBead> {
        &self.beads
    }

    /// Returns the bead with this lineage, live or deleted.
    pub fn bead(&self, lineage: &Lineage) -> Option<&SharedBead> {
        self.beads.get(lineage)
    }

    /// Returns all edges, present and removed.
    pub fn edges(&self) -> &SharedMap<EdgeKey, Edge> {
        &self.edges
    }

    /// Returns the edge with this key, present or removed.
    pub fn edge(&self, key: &EdgeKey) -> Option<&Edge> {
        self.edges.get(key)
    }

    /// Returns the prefix of new ids, with the mark of the write that set it.
    pub fn prefix(&self) -> &PrefixRegister {
        &self.prefix
    }

    /// Returns the recorded conflicts, including dismissed ones.
    pub fn conflicts(&self) -> &BTreeMap<ConflictId, Conflict> {
        &self.conflicts
    }

    /// Returns the floor of garbage collection.
    pub fn gc_floor(&self) -> Floor {
        self.gc_floor
    }

    /// Returns the replicated settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the value of a replicated setting, or `None` if it was never set or has been cleared.
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.settings.get(key).and_then(|register| register.value.non_empty())
    }

    /// Returns the id of the store, if one was minted.
    pub fn store_id(&self) -> Option<&MintedStoreId> {
        self.store_id.as_ref()
    }

    /// Returns the format version that this state is encoded with.
    pub fn format_version(&self) -> u64 {
        self.format_version
    }

    /// Raises the format version to at least `version`.
    pub fn raise_format(&mut self, version: u64) {
        self.format_version = self.format_version.max(version);
    }

    /// Returns which bead holds which id.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Decodes all beads, on several threads. Reading all of them then takes less time.
    pub fn decode_all(&self) {
        let undecoded: Vec<_> = self.beads.values().filter(|bead| bead.is_undecoded()).collect();
        in_parts(&undecoded, |beads| beads.iter().for_each(|bead| bead.decode()));
    }

    /// Returns every stamp in the state.
    pub fn stamps(&self) -> impl Iterator<Item = Stamp> + '_ {
        let beads = self.beads.iter().flat_map(|(lineage, bead)| bead.stamps().chain([lineage.at()]));
        let edges = self.edges.values().map(|edge| edge.changed.at());
        let settings = self.settings.values().map(|register| register.mark.at());
        beads.chain(edges).chain(settings).chain(self.prefix.mark.iter().map(crate::Mark::at))
    }

    /// Advances a clock to every stamp in the state that does not come from a broken clock.
    pub fn show_to(&self, clock: &mut Clock, wall_ms: u64) {
        for (lineage, bead) in &self.beads {
            clock.observe(lineage.at(), wall_ms);
            let newest = bead.newest_stamp();
            if is_sane(newest, wall_ms) {
                clock.observe(newest, wall_ms);
            } else {
                bead.stamps().for_each(|stamp| clock.observe(stamp, wall_ms));
            }
        }
        let edges = self.edges.values().map(|edge| edge.changed.at());
        let settings = self.settings.values().map(|register| register.mark.at());
        let others = edges.chain(settings).chain(self.prefix.mark.iter().map(crate::Mark::at));
        others.for_each(|stamp| clock.observe(stamp, wall_ms));
    }
}
