//! Tells which views a change of the state affects, so that rendered beads can be kept until they change.

use std::collections::BTreeSet;

use crate::shared_map::differing;
use crate::{Catalog, EdgeKind, Endpoint, Lineage, SharedBead, State};

impl Catalog {
    /// Returns the beads whose [`view`](Self::view) may differ from that in `base`: those that changed, those
    /// whose edges changed, and their neighbours, because a view describes those too. Returns `None` if ids
    /// were given anew, which may affect every view.
    ///
    /// This is fast if `base` is an earlier copy of the state.
    pub fn views_changed_since(&self, base: &State) -> Option<BTreeSet<Lineage>> {
        let state = self.state();
        if !state.names().has_the_same_collisions(base.names()) {
            return None;
        }
        let mut changed: BTreeSet<Lineage> =
            differing(&state.beads, &base.beads, SharedBead::is_same_copy).into_iter().cloned().collect();
        for key in differing(&state.edges, &base.edges, PartialEq::eq) {
            changed.extend([&key.from, &key.to].into_iter().filter_map(Endpoint::lineage).cloned());
        }
        let mut neighbours = Vec::new();
        for lineage in &changed {
            for kind in EdgeKind::ALL {
                neighbours.extend(self.targets(lineage, kind).chain(self.sources(lineage, kind)).cloned());
            }
        }
        changed.extend(neighbours);
        Some(changed)
    }
}
