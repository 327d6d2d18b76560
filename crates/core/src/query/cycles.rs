use std::collections::{BTreeMap, BTreeSet};

use super::work_graph::WorkGraph;
use crate::{Catalog, EdgeKind, Lineage};

impl Catalog {
    /// Returns the dependency cycles among live beads. `dep add` refuses to create one, but a merge can still
    /// combine edges of two replicas into a cycle.
    pub fn cycles(&self) -> Vec<(EdgeKind, Vec<Lineage>)> {
        let kinds = EdgeKind::ALL.into_iter().filter(|kind| kind.is_acyclic());
        kinds.flat_map(|kind| self.cycles_of(kind).into_iter().map(move |cycle| (kind, cycle))).collect()
    }

    fn cycles_of(&self, kind: EdgeKind) -> Vec<Vec<Lineage>> {
        let beads = self.possibly_in_cycles(kind);
        let graph = WorkGraph::from_edges(beads, |lineage| self.targets(lineage, kind));
        let cycle = |group: &Vec<usize>| {
            let mut cycle: Vec<_> = group.iter().map(|bead| graph.beads[*bead].clone()).collect();
            cycle.sort_unstable();
            cycle
        };
        let mut cycles: Vec<Vec<Lineage>> = graph.cycles().map(cycle).collect();
        cycles.sort_unstable();
        cycles
    }

    /// Returns a superset of the live beads in cycles, which is almost always empty: those that are left when beads
    /// that wait for none of the others are taken away again and again.
    fn possibly_in_cycles(&self, kind: EdgeKind) -> BTreeSet<&Lineage> {
        let mut left: BTreeMap<&Lineage, usize> = BTreeMap::new();
        let mut sources: BTreeMap<&Lineage, Vec<&Lineage>> = BTreeMap::new();
        let is_live = |lineage: &Lineage| self.live_bead(lineage).is_some();
        for (from, to) in self.edges_of(kind).filter(|(from, to)| is_live(from) && is_live(to)) {
            *left.entry(from).or_default() += 1;
            sources.entry(to).or_default().push(from);
        }
        let mut free: Vec<&Lineage> = sources.keys().copied().filter(|to| !left.contains_key(to)).collect();
        while let Some(to) = free.pop() {
            for from in sources.remove(to).into_iter().flatten() {
                let waits = left.entry(from).or_default();
                *waits -= 1;
                if *waits == 0 {
                    left.remove(from);
                    free.push(from);
                }
            }
        }
        left.into_keys().collect()
    }
}
