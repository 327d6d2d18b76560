//! Forgetting old deletions (§8.4). Off unless configured; then a floor in `meta.json` rises, and every replica drops
//! what lies below it, with or without a setting of its own, so that all still hold the same bytes.

use std::collections::BTreeSet;

use crate::{EdgeKey, Endpoint, Lineage, Names, State, Touched};

impl State {
    /// Drops deleted beads and deleted edges below the floor, and with a bead its edges and conflicts. A bead that ever
    /// shared its id with another stays: the ids of the others follow from it.
    pub(crate) fn collect_garbage(&mut self, touched: &mut Touched) {
        let floor = self.gc_floor.stamp;
        if floor == crate::Stamp::ZERO {
            return;
        }
        let below = |mark: &crate::Mark| mark.at() < floor;
        let gone: BTreeSet<Lineage> = self
            .beads
            .iter()
            .filter(|(_, bead)| bead.deletion.as_ref().is_some_and(|deletion| below(&deletion.mark)))
            .filter(|(lineage, _)| !self.names.ever_collided(lineage))
            .map(|(lineage, _)| lineage.clone())
            .collect();
        let is_gone = |end: &Endpoint| end.lineage().is_some_and(|lineage| gone.contains(lineage));
        let edges: Vec<EdgeKey> = self
            .edges
            .iter()
            .filter(|(key, edge)| {
                (edge.deleted && below(&edge.changed)) || is_gone(&key.from) || is_gone(&key.to)
            })
            .map(|(key, _)| key.clone())
            .collect();
        for key in edges {
            self.edges.remove(&key);
            self.bare_edges.remove(&key);
            touched.edges.insert(key);
        }
        if gone.is_empty() {
            return;
        }
        self.beads.retain(|lineage, _| !gone.contains(lineage));
        self.conflicts.retain(|_, conflict| !gone.contains(&conflict.bead));
        let mut names = Names::default();
        names.extend(self.beads.keys());
        self.names = names;
        touched.beads.extend(gone);
    }
}
