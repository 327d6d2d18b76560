//! Savepoints, for several operations that must all succeed or have no effect. The cost of a savepoint
//! depends on the size of its delta and not on the size of the store.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Catalog, Conflict, ConflictId, Delta, Edge, EdgeKey, Lineage, PrefixRegister, SharedBead, State, Touched,
};

/// The parts of a catalog that a delta is about to change.
#[derive(Debug)]
pub struct Savepoint(Kept);

#[derive(Debug)]
enum Kept {
    Parts {
        beads: Vec<(Lineage, Option<SharedBead>)>,
        edges: BTreeMap<EdgeKey, Option<Edge>>,
        conflicts: Vec<(ConflictId, Option<Conflict>)>,
        prefix: PrefixRegister,
    },
    /// The whole catalog. Garbage collection, settings, a new format and a birth whose id is taken affect
    /// more than what the delta mentions.
    Whole(Box<Catalog>),
}

impl Catalog {
    /// Returns a savepoint for a delta. Call this before [`join_delta`](Self::join_delta), and roll
    /// savepoints back in reverse order.
    pub fn savepoint(&self, delta: &Delta) -> Savepoint {
        let state = self.state();
        let mut ids = BTreeSet::new();
        let mut births =
            delta.beads.keys().filter(|lineage| state.bead(lineage).is_none()).map(Lineage::birth_id);
        let collides = births.any(|id| state.names().is_known(id) || !ids.insert(id));
        let format = delta.required_format() > state.format_version();
        if collides
            || format
            || delta.gc_floor.is_some()
            || !delta.settings.is_empty()
            || delta.store_id.is_some()
        {
            return Savepoint(Kept::Whole(Box::new(self.clone())));
        }
        let edge = |key: &EdgeKey| (key.clone(), state.edge(key).cloned());
        Savepoint(Kept::Parts {
            beads: delta
                .beads
                .keys()
                .map(|lineage| (lineage.clone(), state.bead(lineage).cloned()))
                .collect(),
            // A birth may use the id of a bare edge, which is dropped then.
            edges: delta.edges.keys().chain(&state.bare_edges).map(edge).collect(),
            conflicts: delta
                .conflicts
                .iter()
                .map(|conflict| (conflict.id(), state.conflicts().get(&conflict.id()).cloned()))
                .collect(),
            prefix: state.prefix().clone(),
        })
    }

    /// Restores the catalog as it was at the savepoint.
    pub fn roll_back(&mut self, savepoint: Savepoint) {
        match savepoint.0 {
            Kept::Whole(catalog) => *self = *catalog,
            Kept::Parts { beads, edges, conflicts, prefix } => {
                let touched = Touched {
                    beads: beads.iter().map(|(lineage, _)| lineage.clone()).collect(),
                    edges: edges.keys().cloned().collect(),
                };
                self.restore(&touched, |state| {
                    state.restore_beads(beads);
                    state.restore_edges(edges);
                    for (id, before) in conflicts {
                        match before {
                            Some(conflict) => state.conflicts.insert(id, conflict),
                            None => state.conflicts.remove(&id),
                        };
                    }
                    state.prefix = prefix;
                });
            }
        }
    }
}

impl State {
    fn restore_beads(&mut self, beads: Vec<(Lineage, Option<SharedBead>)>) {
        for (lineage, before) in beads {
            match before {
                Some(bead) => {
                    self.beads.insert(lineage, bead);
                }
                None => {
                    self.beads.remove(&lineage);
                    self.names.forget(&lineage);
                }
            }
        }
    }

    fn restore_edges(&mut self, edges: BTreeMap<EdgeKey, Option<Edge>>) {
        for (key, before) in edges {
            match before {
                Some(edge) => {
                    if key.is_bare() {
                        self.bare_edges.insert(key.clone());
                    }
                    self.edges.insert(key, edge);
                }
                None => {
                    self.bare_edges.remove(&key);
                    self.edges.remove(&key);
                }
            }
        }
    }
}
