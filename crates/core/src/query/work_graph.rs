//! The graph of which beads wait for which. Impact, plans, critical paths, drawings and cycles are computed
//! on it.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;

use super::reach::reach;
use crate::{BeadType, Catalog, Lineage};

/// A dependency graph. Beads are numbered by age, so that results are deterministic.
#[derive(Debug, Default)]
pub(crate) struct WorkGraph<'a> {
    /// The beads, oldest first. The index is the number of a bead.
    pub beads: Vec<&'a Lineage>,
    /// For each bead, the beads it waits for.
    pub waits_for: Vec<Vec<usize>>,
    /// For each bead, the beads that wait for it.
    pub needed_by: Vec<Vec<usize>>,
    /// The strongly connected components, each after all components that wait for it.
    groups: Vec<Vec<usize>>,
}

/// Which dependencies count as edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Only blockers.
    Blockers,
    /// Blockers, and the open children of an epic, which must be finished before the epic.
    BlockersAndChildren,
}

impl<'a> WorkGraph<'a> {
    /// Builds the graph of the given beads. Edges to other beads are ignored.
    pub fn new(catalog: &'a Catalog, beads: BTreeSet<&'a Lineage>, waiting: Waiting) -> Self {
        Self::from_edges(beads, |lineage| {
            let is_epic = catalog.bead(lineage).is_some_and(|bead| bead.kind.value.kind == BeadType::Epic);
            let by_children = waiting == Waiting::BlockersAndChildren && is_epic;
            let children = by_children.then(|| catalog.open_children(lineage));
            catalog.open_blockers(lineage).chain(children.into_iter().flatten())
        })
    }

    /// Builds the graph from a function that returns the beads that a bead waits for.
    pub fn from_edges<I: Iterator<Item = &'a Lineage>>(
        beads: BTreeSet<&'a Lineage>,
        before: impl Fn(&'a Lineage) -> I,
    ) -> Self {
        let beads: Vec<_> = beads.into_iter().collect();
        let numbers: BTreeMap<&Lineage, usize> =
            beads.iter().enumerate().map(|(number, lineage)| (*lineage, number)).collect();
        let mut graph = Self {
            waits_for: vec![Vec::new(); beads.len()],
            needed_by: vec![Vec::new(); beads.len()],
            beads,
            groups: Vec::new(),
        };
        let mut shape: DiGraphMap<usize, ()> = DiGraphMap::new();
        for (number, lineage) in graph.beads.iter().enumerate() {
            shape.add_node(number);
            let before: BTreeSet<usize> =
                before(lineage).filter_map(|earlier| numbers.get(earlier)).copied().collect();
            for earlier in before {
                graph.waits_for[number].push(earlier);
                graph.needed_by[earlier].push(number);
                shape.add_edge(earlier, number, ());
            }
        }
        graph.groups = kosaraju_scc(&shape);
        graph
    }

    /// Returns for each bead the weight of the heaviest chain of beads that wait for it, without its own
    /// weight. The beads of a cycle count as a chain of all of them.
    pub fn longest_chain_after(&self, weight: impl Fn(usize) -> u64) -> Vec<u64> {
        let mut behind = vec![0; self.beads.len()];
        for group in &self.groups {
            let whole: u64 = group.iter().map(|bead| weight(*bead)).sum();
            let next =
                group.iter().flat_map(|bead| &self.needed_by[*bead]).filter(|next| !group.contains(next));
            // Each member of a group has the weight of the rest of the group behind it.
            let after = next.map(|next| behind[*next] + weight(*next)).max().unwrap_or(0);
            for bead in group {
                behind[*bead] = after + whole - weight(*bead);
            }
        }
        behind
    }

    /// Returns for each bead the length of the longest chain of beads that it waits for. The beads of a cycle
    /// have the same depth.
    pub fn depth(&self) -> Vec<usize> {
        let mut depth = vec![0; self.beads.len()];
        for group in self.groups.iter().rev() {
            let before = group.iter().flat_map(|bead| &self.waits_for[*bead]);
            let earlier = before.filter(|before| !group.contains(before)).map(|before| depth[*before] + 1);
            let here = earlier.max().unwrap_or(0);
            group.iter().for_each(|bead| depth[*bead] = here);
        }
        depth
    }

    /// Iterates over the beads in an order that puts dependents first. Within a cycle the order is arbitrary.
    pub fn dependents_first(&self) -> impl Iterator<Item = usize> + '_ {
        self.groups.iter().flatten().copied()
    }

    /// Iterates over the cycles: groups of beads that wait for each other, and beads that wait for
    /// themselves.
    pub fn cycles(&self) -> impl Iterator<Item = &Vec<usize>> {
        self.groups
            .iter()
            .filter(|group| group.len() > 1 || group.iter().any(|bead| self.waits_for[*bead].contains(bead)))
    }

    /// Returns the beads that can never become ready: those in a cycle, and those that wait for one.
    pub fn stuck(&self) -> BTreeSet<usize> {
        self.with_dependents(self.cycles().flatten().copied())
    }

    /// Returns the given beads and all beads that wait for them, directly or indirectly.
    pub fn with_dependents(&self, beads: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        reach(beads, |bead| self.needed_by[bead].iter().copied())
    }

    /// Returns the heaviest chain from a bead without blockers to a bead without dependents. Among equal
    /// chains, prefers the oldest beads. The graph must not have cycles.
    pub fn critical_path(&self, weight: impl Fn(usize) -> u64) -> Vec<usize> {
        let behind = self.longest_chain_after(&weight);
        let total = |bead: usize| weight(bead) + behind[bead];
        // `max_by_key` returns the last of equal elements, so reverse to get the oldest.
        let heaviest =
            |beads: &mut dyn DoubleEndedIterator<Item = usize>| beads.rev().max_by_key(|bead| total(*bead));
        let mut starts = (0..self.beads.len()).filter(|bead| self.waits_for[*bead].is_empty());
        let mut path = Vec::new();
        let mut next = heaviest(&mut starts);
        while let Some(bead) = next {
            path.push(bead);
            next = heaviest(&mut self.needed_by[bead].iter().copied());
        }
        path
    }
}
