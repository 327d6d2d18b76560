//! The join: the only way to merge two states. It is commutative, associative and idempotent on the encoded
//! bytes. It never reads a clock and never fails on valid snapshots.

use std::collections::BTreeSet;

use crate::{
    Bead, Conflict, Delta, Edge, EdgeKey, Endpoint, Error, Lineage, Patch, Result, SharedBead, State,
    setting, store_id,
};

/// The beads and edges that a join changed, so that indexes can be updated.
#[derive(Debug, Default)]
pub struct Touched {
    /// Beads that were added, changed or dropped.
    pub beads: BTreeSet<Lineage>,
    /// Edges that were added, changed or dropped.
    pub edges: BTreeSet<EdgeKey>,
}

impl State {
    /// Merges `other` into this state.
    pub fn join(&mut self, other: &Self) -> Touched {
        let mut touched = Touched::default();
        let mut births = Vec::new();
        for (lineage, bead) in &other.beads {
            match self.beads.get(lineage) {
                Some(mine) if mine == bead => continue,
                Some(mine) => {
                    if mine.is_hollow() != bead.is_hollow() {
                        self.unhealed.insert(lineage.clone());
                    }
                    self.patch(lineage, &Patch::from(bead.as_ref()));
                }
                None => {
                    births.push(lineage);
                    self.beads.insert(lineage.clone(), bead.clone());
                }
            }
            touched.beads.insert(lineage.clone());
        }
        self.unhealed.extend(other.unhealed.iter().cloned());
        self.names.extend(births);
        for (key, edge) in &other.edges {
            if self.join_edge(key, edge) {
                touched.edges.insert(key.clone());
            }
        }
        if other.prefix > self.prefix {
            self.prefix = other.prefix.clone();
        }
        other.conflicts.values().for_each(|conflict| self.join_conflict(conflict));
        touched.edges.extend(self.drop_bare_edges_to_known_ids());
        self.gc_floor = self.gc_floor.max(other.gc_floor);
        setting::join(&mut self.settings, &other.settings);
        store_id::join(&mut self.store_id, other.store_id.as_ref());
        self.raise_format(other.format_version);
        self.collect_garbage(&mut touched);
        touched
    }

    /// Merges a delta into this state.
    ///
    /// Fails without changing anything if the delta refers to a bead that is neither in this state nor
    /// complete in the delta, or if it changes a bead whose content is in the archive without having all of it.
    /// References to beads below the floor of garbage collection are skipped: the bead was here and has been
    /// dropped since.
    pub fn join_delta(&mut self, delta: &Delta) -> Result<Touched> {
        let births = self.births_in(delta)?;
        let mut touched = Touched::default();
        self.names.extend(births.iter().map(|(lineage, _)| *lineage));
        for (lineage, bead) in births {
            self.beads.insert(lineage.clone(), bead.into());
            touched.beads.insert(lineage.clone());
        }
        for (lineage, patch) in &delta.beads {
            if touched.beads.insert(lineage.clone()) {
                if !patch.is_marker() && self.is_hollow(lineage) {
                    self.unhealed.insert(lineage.clone());
                }
                self.patch(lineage, patch);
            }
        }
        let forgotten = |end: &Endpoint| end.lineage().is_some_and(|lineage| self.is_forgotten(lineage));
        let edges = delta.edges.iter().filter(|(key, _)| !forgotten(&key.from) && !forgotten(&key.to));
        for (key, edge) in edges.collect::<Vec<_>>() {
            if self.join_edge(key, edge) {
                touched.edges.insert(key.clone());
            }
        }
        if let Some(prefix) = &delta.prefix
            && *prefix > self.prefix
        {
            self.prefix = prefix.clone();
        }
        delta.conflicts.iter().for_each(|conflict| self.join_conflict(conflict));
        touched.edges.extend(self.drop_bare_edges_to_known_ids());
        setting::join(&mut self.settings, &delta.settings);
        store_id::join(&mut self.store_id, delta.store_id.as_ref());
        self.raise_format(delta.required_format());
        if let Some(floor) = delta.gc_floor {
            self.gc_floor = self.gc_floor.max(floor);
            self.collect_garbage(&mut touched);
        }
        Ok(touched)
    }

    /// Merges a conflict record, which keeps a value that a concurrent write overwrote. Skips it if the bead
    /// is not here: garbage collection dropped it in the merge that found the conflict.
    pub fn join_conflict(&mut self, conflict: &Conflict) {
        if !self.beads.contains_key(&conflict.bead) {
            return;
        }
        match self.conflicts.get_mut(&conflict.id()) {
            Some(known) => known.join(conflict),
            None => {
                self.conflicts.insert(conflict.id(), conflict.clone());
            }
        }
    }

    /// Returns whether [`join_delta`](Self::join_delta) would take a delta.
    pub fn accepts(&self, delta: &Delta) -> bool {
        let is_known = |lineage: &Lineage| self.beads.contains_key(lineage) || self.is_forgotten(lineage);
        let ends = delta.edges.keys().flat_map(|key| [&key.from, &key.to]).filter_map(Endpoint::lineage);
        let mut others = ends.chain(delta.conflicts.iter().map(|conflict| &conflict.bead));
        let takes = |lineage: &Lineage, patch: &Patch| {
            patch.creates_a_bead() || (is_known(lineage) && !self.is_hollow(lineage))
        };
        delta.beads.iter().all(|(lineage, patch)| takes(lineage, patch))
            && others.all(|lineage| delta.beads.contains_key(lineage) || is_known(lineage))
    }

    /// Returns whether the content of the bead is only in the archive.
    pub(crate) fn is_hollow(&self, lineage: &Lineage) -> bool {
        self.beads.get(lineage).is_some_and(SharedBead::is_hollow)
    }

    /// Returns whether the bead is absent and may have been dropped: garbage collection only drops beads that
    /// were created below its floor.
    pub(crate) fn is_forgotten(&self, lineage: &Lineage) -> bool {
        lineage.at() < self.gc_floor.stamp && !self.beads.contains_key(lineage)
    }

    /// Returns the beads that a delta creates. Fails if it refers to other beads that are not in this state.
    fn births_in<'a>(&self, delta: &'a Delta) -> Result<Vec<(&'a Lineage, Bead)>> {
        let unknown = |lineage: &Lineage| Error::NotFound(format!("{lineage:?}"));
        let mut births = Vec::new();
        for (lineage, patch) in &delta.beads {
            if self.is_hollow(lineage) {
                if patch.clone().into_bead().is_none() {
                    let id = self.names.id_of(lineage).to_string();
                    return Err(Error::Archived { asked: id, remapped: Vec::new() });
                }
            } else if !self.beads.contains_key(lineage) {
                match patch.clone().into_bead() {
                    Some(bead) => births.push((lineage, bead)),
                    None if self.is_forgotten(lineage) => {}
                    None => return Err(unknown(lineage)),
                }
            }
        }
        let ends = delta.edges.keys().flat_map(|key| [&key.from, &key.to]).filter_map(Endpoint::lineage);
        for lineage in ends.chain(delta.conflicts.iter().map(|conflict| &conflict.bead)) {
            let known = self.beads.contains_key(lineage) || delta.beads.contains_key(lineage);
            if !known && !self.is_forgotten(lineage) {
                return Err(unknown(lineage));
            }
        }
        Ok(births)
    }

    fn patch(&mut self, lineage: &Lineage, patch: &Patch) {
        if let Some(bead) = self.beads.get_mut(lineage) {
            bead.make_mut().join(patch);
        }
    }

    fn join_edge(&mut self, key: &EdgeKey, edge: &Edge) -> bool {
        if let Some(mine) = self.edges.get(key) {
            // Write only if it differs, because a write copies entries that a snapshot shares.
            let mut joined = mine.clone();
            joined.join(edge);
            let differs = joined != *mine;
            if differs {
                self.edges.insert(key.clone(), joined);
            }
            return differs;
        }
        if key.is_bare() {
            self.bare_edges.insert(key.clone());
        }
        self.edges.insert(key.clone(), edge.clone());
        true
    }

    /// Drops bare edges whose id a bead now holds, live or deleted. A bare end never binds to a bead, because
    /// two replicas could bind it to two different beads.
    fn drop_bare_edges_to_known_ids(&mut self) -> Vec<EdgeKey> {
        let held = |end: &Endpoint| match end {
            Endpoint::Bare(id) => self.names.holder(id.as_str()).is_some(),
            Endpoint::Bead(_) => false,
        };
        let dropped: Vec<_> =
            self.bare_edges.iter().filter(|key| held(&key.from) || held(&key.to)).cloned().collect();
        for key in &dropped {
            self.bare_edges.remove(key);
            self.edges.remove(key);
        }
        dropped
    }
}
