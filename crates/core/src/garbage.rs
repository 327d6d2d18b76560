//! Garbage collection of old deletions (§8.4), off by default. When it is configured, a floor in `meta.json`
//! rises, and every replica drops what is below it, regardless of its own settings, so that all replicas
//! still hold the same bytes.

use std::collections::BTreeSet;

use crate::{EdgeKey, Endpoint, Lineage, Names, State, Touched};

impl State {
    /// Drops deleted beads and deleted edges below the floor. A dropped bead takes its edges and conflicts
    /// with it. A bead that ever shared its id with another stays, because the ids of the others depend on
    /// it.
    pub(crate) fn collect_garbage(&mut self, touched: &mut Touched) {
        let floor = self.gc_floor.stamp;
        if floor == crate::Stamp::ZERO {
            return;
        }
        let below = |mark: &crate::Mark| mark.at() < floor;
        let dropped: BTreeSet<Lineage> = self
            .beads
            .iter()
            .filter(|(_, bead)| {
                // An archived bead is kept: only its marker tells the others that it has moved.
                bead.deletion.as_ref().is_some_and(|deletion| !deletion.archived && below(&deletion.mark))
            })
            .filter(|(lineage, _)| !self.names.ever_collided(lineage))
            .map(|(lineage, _)| lineage.clone())
            .collect();
        let is_dropped = |end: &Endpoint| end.lineage().is_some_and(|lineage| dropped.contains(lineage));
        let edges: Vec<EdgeKey> = self
            .edges
            .iter()
            .filter(|(key, edge)| {
                (edge.deleted && below(&edge.changed)) || is_dropped(&key.from) || is_dropped(&key.to)
            })
            .map(|(key, _)| key.clone())
            .collect();
        for key in edges {
            self.edges.remove(&key);
            self.bare_edges.remove(&key);
            touched.edges.insert(key);
        }
        if dropped.is_empty() {
            return;
        }
        self.beads.retain(|lineage, _| !dropped.contains(lineage));
        self.conflicts.retain(|_, conflict| !dropped.contains(&conflict.bead));
        let mut names = Names::default();
        names.extend(self.beads.keys());
        self.names = names;
        touched.beads.extend(dropped);
    }
}
