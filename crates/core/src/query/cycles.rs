use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;

use crate::{Catalog, EdgeKind, Lineage};

impl Catalog {
    /// Groups of live beads that wait for each other, or are each other's parents, in a circle. `dep add` refuses to
    /// close one, but a merge of two innocent edges can.
    pub fn cycles(&self) -> Vec<(EdgeKind, Vec<Lineage>)> {
        let kinds = EdgeKind::ALL.into_iter().filter(|kind| kind.is_acyclic());
        kinds.flat_map(|kind| self.cycles_of(kind).into_iter().map(move |cycle| (kind, cycle))).collect()
    }

    fn cycles_of(&self, kind: EdgeKind) -> Vec<Vec<Lineage>> {
        let mut graph: DiGraphMap<&Lineage, ()> = DiGraphMap::new();
        for (from, _) in self.live() {
            for to in self.targets(from, kind).filter(|to| self.live_bead(to).is_some()) {
                graph.add_edge(from, to, ());
            }
        }
        let mut cycles: Vec<Vec<Lineage>> = kosaraju_scc(&graph)
            .into_iter()
            .filter(|group| group.len() > 1 || graph.contains_edge(group[0], group[0]))
            .map(|group| {
                let mut group: Vec<_> = group.into_iter().cloned().collect();
                group.sort_unstable();
                group
            })
            .collect();
        cycles.sort_unstable();
        cycles
    }
}
