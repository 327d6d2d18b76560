//! A delta: the small state that one operation adds. The journal keeps deltas; taking one is a join.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::canonical::to_canonical;
use crate::setting::{self, StoredSetting};
use crate::snapshot::FIRST_FORMAT_VERSION;
use crate::store_id::{self, StoredStoreId};
use crate::{
    Conflict, Deletion, Edge, EdgeKey, Floor, Lineage, MintedStoreId, Patch, PrefixRegister, SettingKey,
    Settings, Stamp,
};

/// About what an edge takes in the journal: two lineages and two marks.
const EDGE_BYTES: usize = 512;

/// Beads and edges are named by lineage, never by id: an id may mean another bead after the next merge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Wire", try_from = "Wire")]
pub struct Delta {
    pub beads: BTreeMap<Lineage, Patch>,
    pub edges: BTreeMap<EdgeKey, Edge>,
    pub prefix: Option<PrefixRegister>,
    pub conflicts: Vec<Conflict>,
    /// Raises the floor below which deletions may be forgotten.
    pub gc_floor: Option<Floor>,
    pub settings: Settings,
    pub store_id: Option<MintedStoreId>,
    /// Raises the format of the store, beyond what the rest of the delta asks for.
    pub format_version: Option<u64>,
}

impl Delta {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn of_bead(lineage: Lineage, patch: Patch) -> Self {
        Self { beads: BTreeMap::from([(lineage, patch)]), ..Self::default() }
    }

    /// Takes in a delta that was decided on top of this one.
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

    /// The format version that a store has once it took this delta, or a later one.
    pub fn required_format(&self) -> u64 {
        let beads = self.beads.values().map(Patch::format_version);
        let conflicts = self.conflicts.iter().map(Conflict::format_version);
        let floor = self.gc_floor.map(Floor::format_version);
        let meta = (!self.settings.is_empty() || self.store_id.is_some()).then_some(2);
        let others = [floor, meta, self.format_version].into_iter().flatten();
        beads.chain(conflicts).chain(others).max().unwrap_or(FIRST_FORMAT_VERSION)
    }

    /// The same in parts that take about this many bytes each in the journal. Beads come before the edges between them,
    /// so that the parts can be taken one after the other.
    pub fn split(mut self, bytes: usize) -> Vec<Self> {
        let edges = std::mem::take(&mut self.edges);
        let mut parts = vec![Self::default()];
        let mut filled = 0;
        for (lineage, patch) in std::mem::take(&mut self.beads) {
            let size = to_canonical(&Body::of_patch(&patch)).len();
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

    pub fn of_edge(key: EdgeKey, edge: Edge) -> Self {
        Self { edges: BTreeMap::from([(key, edge)]), ..Self::default() }
    }
}

/// A delta as the journal has it.
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

impl From<Delta> for Wire {
    fn from(delta: Delta) -> Self {
        let bead = |(lineage, patch): (Lineage, Patch)| WireBead {
            lineage,
            body: Body::of_patch(&patch),
            deletion: patch.deletion,
        };
        Self {
            beads: delta.beads.into_iter().map(bead).collect(),
            edges: delta.edges.into_iter().collect(),
            prefix: delta.prefix,
            conflicts: delta.conflicts,
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
