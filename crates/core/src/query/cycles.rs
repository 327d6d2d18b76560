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
        // A bead without outgoing edges is in no cycle.
        let beads = self.live().map(|(lineage, _)| lineage);
        let beads = beads.filter(|lineage| self.targets(lineage, kind).next().is_some()).collect();
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
}
