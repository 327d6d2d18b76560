//! Deltas: the small states that operations add. The journal stores deltas.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize, Serializer};

use crate::body::Body;
use crate::setting::{self, StoredSetting};
use crate::size;
use crate::snapshot::FIRST_FORMAT_VERSION;
use crate::store_id::{self, StoredStoreId};
use crate::{
    BeadId, Conflict, Deletion, Edge, EdgeKey, Endpoint, Floor, Lineage, MintedStoreId, Patch,
    PrefixRegister, SettingKey, Settings, Stamp, State,
};

/// The approximate size of an edge in the journal: two lineages and two marks.
const EDGE_BYTES: usize = 512;

/// What one operation wrote. [`State::join_delta`] merges it into a state.
///
/// Beads and edges are keyed by lineage, never by id, because an id may refer to another bead after the next
/// merge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Wire")]
pub struct Delta {
    /// New and changed beads.
    pub beads: BTreeMap<Lineage, Patch>,
    /// New and changed edges.
    pub edges: BTreeMap<EdgeKey, Edge>,
    /// A new prefix for ids.
    pub prefix: Option<PrefixRegister>,
    /// New and changed conflict records.
    pub conflicts: Vec<Conflict>,
    /// Raises the floor below which deletions are dropped.
    pub gc_floor: Option<Floor>,
    /// New and changed settings.
    pub settings: Settings,
    /// A newly minted store id.
    pub store_id: Option<MintedStoreId>,
    /// Raises the format version of the store above what the rest of the delta requires.
    pub format_version: Option<u64>,
}

impl Delta {
    /// Returns whether the delta contains no change.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns a delta that patches one bead.
    pub fn of_bead(lineage: Lineage, patch: Patch) -> Self {
        Self { beads: BTreeMap::from([(lineage, patch)]), ..Self::default() }
    }

    /// Merges a delta that was computed on top of this one.
    pub fn join(&mut self, later: &Self) {
        for (lineage, patch) in &later.beads {
            self.beads.entry(lineage.clone()).or_default().join(patch);
        }
        for (key, edge) in &later.edges {
            self.edges.entry(key.clone()).and_modify(|mine| mine.join(edge)).or_insert_with(|| edge.clone());
        }
        if later.prefix > self.prefix {
            self.prefix.clone_from(&later.prefix);
        }
        self.conflicts.extend(later.conflicts.iter().cloned());
        self.gc_floor = self.gc_floor.max(later.gc_floor);
        setting::join(&mut self.settings, &later.settings);
        store_id::join(&mut self.store_id, later.store_id.as_ref());
        self.format_version = self.format_version.max(later.format_version);
    }

    /// Returns the delta without references to beads that are neither in `state` nor complete in the delta,
    /// and the birth ids of those beads. After the floor of garbage collection was reset, the journal may
    /// refer to beads that were dropped. A part of a bead whose content is in the archive is left out, too.
    pub fn without_unknown_beads(&self, state: &State) -> (Self, Vec<BeadId>) {
        let mut unknown = BTreeSet::new();
        let mut known = |lineage: &Lineage| {
            let is_birth = self.beads.get(lineage).is_some_and(Patch::creates_a_bead);
            let known = is_birth || state.bead(lineage).is_some();
            if !known {
                unknown.insert(lineage.birth_id().clone());
            }
            known
        };
        let mut delta = self.clone();
        delta
            .beads
            .retain(|lineage, patch| known(lineage) && (patch.creates_a_bead() || !state.is_hollow(lineage)));
        delta
            .edges
            .retain(|key, _| [&key.from, &key.to].into_iter().filter_map(Endpoint::lineage).all(&mut known));
        delta.conflicts.retain(|conflict| known(&conflict.bead));
        (delta, unknown.into_iter().collect())
    }

    /// Returns the lowest format version of a store that contains this delta.
    pub fn required_format(&self) -> u64 {
        let beads = self.beads.values().map(Patch::format_version);
        let conflicts = self.conflicts.iter().map(Conflict::format_version);
        let floor = self.gc_floor.map(Floor::format_version);
        let meta = (!self.settings.is_empty() || self.store_id.is_some()).then_some(2);
        let others = [floor, meta, self.format_version].into_iter().flatten();
        beads.chain(conflicts).chain(others).max().unwrap_or(FIRST_FORMAT_VERSION)
    }

    /// Splits the delta into parts of about `bytes` each in the journal. Beads come before the edges between
    /// them, so that the parts can be joined one after the other.
    pub fn split(mut self, bytes: usize) -> Vec<Self> {
        let edges = std::mem::take(&mut self.edges);
        let mut parts = vec![Self::default()];
        let mut filled = 0;
        for (lineage, patch) in std::mem::take(&mut self.beads) {
            let size = size::patch_bytes(&patch);
            if filled > 0 && filled + size > bytes {
                parts.push(Self::default());
                filled = 0;
            }
            filled += size;
            parts.last_mut().expect("never empty").beads.insert(lineage, patch);
        }
        for (key, edge) in edges {
            if filled > bytes {
                parts.push(Self::default());
                filled = 0;
            }
            filled += EDGE_BYTES;
            parts.last_mut().expect("never empty").edges.insert(key, edge);
        }
        parts.last_mut().expect("never empty").join(&self);
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// Returns a delta that sets one edge.
    pub fn of_edge(key: EdgeKey, edge: Edge) -> Self {
        Self { edges: BTreeMap::from([(key, edge)]), ..Self::default() }
    }
}

/// The JSON form of a delta in the journal.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    beads: Vec<WireBead>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    edges: Vec<(EdgeKey, Edge)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prefix: Option<PrefixRegister>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conflicts: Vec<Conflict>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gc_floor: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gc_floor_epoch: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    settings: BTreeMap<SettingKey, StoredSetting>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    store_id: Option<StoredStoreId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format_version: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireBead {
    lineage: Lineage,
    body: Body,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deletion: Option<Deletion>,
}

impl Serialize for Delta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire::from(self).serialize(serializer)
    }
}

impl From<&Delta> for Wire {
    fn from(delta: &Delta) -> Self {
        let bead = |(lineage, patch): (&Lineage, &Patch)| WireBead {
            lineage: lineage.clone(),
            body: Body::of_patch(patch),
            deletion: patch.deletion.clone(),
        };
        Self {
            beads: delta.beads.iter().map(bead).collect(),
            edges: delta.edges.iter().map(|(key, edge)| (key.clone(), edge.clone())).collect(),
            prefix: delta.prefix.clone(),
            conflicts: delta.conflicts.clone(),
            gc_floor: delta.gc_floor.map(|floor| floor.stamp),
            gc_floor_epoch: delta.gc_floor.map(|floor| floor.epoch).filter(|epoch| *epoch > 0),
            settings: setting::stored(&delta.settings),
            store_id: delta.store_id.as_ref().map(MintedStoreId::stored),
            format_version: delta.format_version,
        }
    }
}

impl TryFrom<Wire> for Delta {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        let mut delta = Self {
            edges: wire.edges.into_iter().collect(),
            prefix: wire.prefix,
            conflicts: wire.conflicts,
            gc_floor: read_floor(wire.gc_floor, wire.gc_floor_epoch)?,
            settings: setting::restored(wire.settings),
            store_id: wire.store_id.map(Into::into),
            format_version: wire.format_version,
            ..Self::default()
        };
        for bead in wire.beads {
            let mut patch = bead.body.into_patch()?;
            patch.deletion = bead.deletion;
            delta.beads.insert(bead.lineage, patch);
        }
        Ok(delta)
    }
}

fn read_floor(stamp: Option<Stamp>, epoch: Option<u64>) -> Result<Option<Floor>, String> {
    match (stamp, epoch) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err("gc_floor_epoch without gc_floor".into()),
        (Some(stamp), epoch) => Ok(Some(Floor { epoch: epoch.unwrap_or_default(), stamp })),
    }
}
