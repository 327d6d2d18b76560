//! The only way two states meet. Commutative, associative and idempotent on the encoded bytes; it never reads a
//! clock and never fails on valid snapshots.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{
    Bead, Conflict, Delta, Edge, EdgeKey, Endpoint, Error, Lineage, Patch, Result, State, setting, store_id,
};

/// What a join touched, for those who keep indexes.
#[derive(Debug, Default)]
pub struct Touched {
    pub beads: BTreeSet<Lineage>,
    pub edges: BTreeSet<EdgeKey>,
}

impl State {
    /// Takes in all that `other` knows.
    pub fn join(&mut self, other: &Self) -> Touched {
        let mut touched = Touched::default();
        let mut births = Vec::new();
        for (lineage, bead) in &other.beads {
            match self.beads.get(lineage) {
                Some(mine) if Arc::ptr_eq(mine, bead) || mine == bead => continue,
                Some(_) => self.patch(lineage, &Patch::from(bead.as_ref())),
                None => {
                    births.push(lineage);
                    self.beads.insert(lineage.clone(), bead.clone());
                }
            }
            touched.beads.insert(lineage.clone());
        }
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
        touched.edges.extend(self.drop_bare_edges_that_were_taken());
        self.gc_floor = self.gc_floor.max(other.gc_floor);
        setting::join(&mut self.settings, &other.settings);
        store_id::join(&mut self.store_id, other.store_id.as_ref());
        self.raise_format(other.format_version);
        self.collect_garbage(&mut touched);
        touched
    }

    /// Takes in what an operation did. Fails, having changed nothing, when the delta speaks of a bead that is not
    /// here and does not bring it along whole. What lies below the floor of garbage collection is passed over: the
    /// bead was here, and has been forgotten since.
    pub fn take(&mut self, delta: &Delta) -> Result<Touched> {
        let births = self.births_in(delta)?;
        let mut touched = Touched::default();
        self.names.extend(births.iter().map(|(lineage, _)| *lineage));
        for (lineage, bead) in births {
            self.beads.insert(lineage.clone(), Arc::new(bead));
            touched.beads.insert(lineage.clone());
        }
        for (lineage, patch) in &delta.beads {
            if touched.beads.insert(lineage.clone()) {
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
        for conflict in delta.conflicts.iter().filter(|conflict| self.beads.contains_key(&conflict.bead)) {
            self.conflicts
                .entry(conflict.id())
                .and_modify(|known| known.join(conflict))
                .or_insert_with(|| conflict.clone());
        }
        touched.edges.extend(self.drop_bare_edges_that_were_taken());
        setting::join(&mut self.settings, &delta.settings);
        store_id::join(&mut self.store_id, delta.store_id.as_ref());
        self.raise_format(delta.required_format());
        if let Some(floor) = delta.gc_floor {
            self.gc_floor = self.gc_floor.max(floor);
            self.collect_garbage(&mut touched);
        }
        Ok(touched)
    }

    /// Keeps what a concurrent write overwrote.
    pub fn join_conflict(&mut self, conflict: &Conflict) {
        match self.conflicts.get_mut(&conflict.id()) {
            Some(known) => known.join(conflict),
            None => {
                self.conflicts.insert(conflict.id(), conflict.clone());
            }
        }
    }

    /// Not here, but it may have been: garbage collection takes only what was born below its floor.
    fn is_forgotten(&self, lineage: &Lineage) -> bool {
        lineage.at() < self.gc_floor.stamp && !self.beads.contains_key(lineage)
    }

    /// The beads that a delta brings along; an error if it speaks of others that are not here.
    fn births_in<'a>(&self, delta: &'a Delta) -> Result<Vec<(&'a Lineage, Bead)>> {
        let unknown = |lineage: &Lineage| Error::NotFound(format!("{lineage:?}"));
        let mut births = Vec::new();
        for (lineage, patch) in &delta.beads {
            if !self.beads.contains_key(lineage) {
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
            Arc::make_mut(bead).join(patch);
        }
    }

    fn join_edge(&mut self, key: &EdgeKey, edge: &Edge) -> bool {
        if let Some(mine) = self.edges.get(key) {
            // Written only where it differs: what is written is copied if a snapshot shares it.
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

    /// A bare end never binds to a bead, because two replicas could bind it to two different beads. So the edge goes
    /// once any bead, live or deleted, holds the id.
    fn drop_bare_edges_that_were_taken(&mut self) -> Vec<EdgeKey> {
        let held = |end: &Endpoint| match end {
            Endpoint::Bare(id) => self.names.holder(id.as_str()).is_some(),
            Endpoint::Bead(_) => false,
        };
        let taken: Vec<_> =
            self.bare_edges.iter().filter(|key| held(&key.from) || held(&key.to)).cloned().collect();
        for key in &taken {
            self.bare_edges.remove(key);
            self.edges.remove(key);
        }
        taken
    }
}
