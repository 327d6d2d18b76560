use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::work_graph::{Waiting, WorkGraph};
use crate::{Catalog, Lineage};

/// How much other work depends on a bead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Impact {
    /// Length of the longest chain of unfinished beads that wait for it, one after the other.
    pub chain: u64,
    /// Number of beads that wait only for this one and become ready when it is closed.
    pub unblocks: usize,
}

impl Impact {
    /// Returns the sort key that puts the greatest impact first.
    pub(super) fn order(self) -> (Reverse<u64>, Reverse<usize>) {
        (Reverse(self.chain), Reverse(self.unblocks))
    }
}

impl Catalog {
    /// Returns the impact of every unfinished bead that others wait for. All other beads have none.
    pub fn impacts(&self) -> BTreeMap<Lineage, Impact> {
        let graph = WorkGraph::new(self, self.unfinished(), Waiting::Blockers);
        let chains = graph.longest_chain_after(|_| 1);
        let beads = graph.beads.iter().zip(&graph.needed_by).zip(chains);
        beads
            .filter(|((_, needed_by), _)| !needed_by.is_empty())
            .map(|((lineage, _), chain)| {
                let unblocks = self.waiting_only_for(lineage).len();
                ((*lineage).clone(), Impact { chain, unblocks })
            })
            .collect()
    }

    /// Returns the beads that are not closed, without memories.
    pub(crate) fn unfinished(&self) -> BTreeSet<&Lineage> {
        let open = self.work().filter(|(_, bead)| bead.status.value.status != crate::Status::Closed);
        open.map(|(lineage, _)| lineage).collect()
    }
}
