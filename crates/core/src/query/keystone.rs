use std::cmp::Reverse;

use super::work_graph::{Waiting, WorkGraph};
use crate::{Catalog, Lineage};

/// For how many beads the waiting work is counted exactly. Bounds the cost to a multiple of the graph's size.
const MAX_COUNTED: usize = 32;

impl Catalog {
    /// Returns the unfinished bead that most blocked work waits for, directly or indirectly, and how many
    /// beads wait for it. Only beads that can be worked on count, unless all blockers wait for each other.
    pub fn keystone(&self) -> Option<(Lineage, usize)> {
        let graph = WorkGraph::new(self, self.unfinished(), Waiting::Blockers);
        // Counts a bead once for each path to it, so it is never too small except within cycles.
        let mut bound = vec![0_usize; graph.beads.len()];
        for bead in graph.dependents_first() {
            let paths = graph.needed_by[bead].iter().map(|next| bound[*next].saturating_add(1));
            bound[bead] = paths.fold(0_usize, usize::saturating_add).min(graph.beads.len());
        }
        let blockers = (0..graph.beads.len()).filter(|bead| !graph.needed_by[*bead].is_empty());
        let (mut candidates, rest): (Vec<_>, Vec<_>) =
            blockers.partition(|bead| graph.waits_for[*bead].is_empty());
        if candidates.is_empty() {
            candidates = rest;
        }
        candidates.sort_by_key(|bead| (Reverse(bound[*bead]), *bead));
        let mut best: Option<(usize, usize)> = None;
        for bead in candidates.into_iter().take(MAX_COUNTED) {
            if best.is_some_and(|(_, waiting)| waiting >= bound[bead]) {
                break;
            }
            let waiting = graph.with_dependents([bead]).len() - 1;
            if best.is_none_or(|(_, most)| waiting > most) {
                best = Some((bead, waiting));
            }
        }
        best.map(|(bead, waiting)| (graph.beads[bead].clone(), waiting))
    }
}
