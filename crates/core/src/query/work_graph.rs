//! Beads and who of them waits for whom: the one graph that impact, plan, critical path, drawings and cycles are computed on.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;

use super::reach::reach;
use crate::{BeadType, Catalog, Lineage};

/// Beads by number, oldest first, so that every answer is the same for the same beads.
#[derive(Debug, Default)]
pub(crate) struct WorkGraph<'a> {
    pub beads: Vec<&'a Lineage>,
    pub waits_for: Vec<Vec<usize>>,
    pub needed_by: Vec<Vec<usize>>,
    /// Beads that wait for each other in a circle, or single ones; each group after all that wait for it.
    groups: Vec<Vec<usize>>,
}

/// Which ways of waiting count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Blockers alone.
    Blockers,
    /// Blockers, and for an epic its open children: it is finished after them.
    BlockersAndChildren,
}

impl<'a> WorkGraph<'a> {
    /// The graph of the given beads; edges to others do not count.
    pub fn new(catalog: &'a Catalog, beads: BTreeSet<&'a Lineage>, waiting: Waiting) -> Self {
        Self::of(beads, |lineage| {
            let is_epic = catalog.bead(lineage).is_some_and(|bead| bead.kind.value.kind == BeadType::Epic);
            let by_children = waiting == Waiting::BlockersAndChildren && is_epic;
            let children = by_children.then(|| catalog.open_children(lineage));
            catalog.open_blockers(lineage).chain(children.into_iter().flatten())
        })
    }

    /// The same with the beads before each one as `before` names them.
    pub fn of<I: Iterator<Item = &'a Lineage>>(
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

    /// For each bead the heaviest chain of beads that wait for it, without its own weight. A circle, which a merge can
    /// close, counts as all its beads in a row.
    pub fn behind(&self, weight: impl Fn(usize) -> u64) -> Vec<u64> {
        let mut behind = vec![0; self.beads.len()];
        for group in &self.groups {
            let whole: u64 = group.iter().map(|bead| weight(*bead)).sum();
            let next =
                group.iter().flat_map(|bead| &self.needed_by[*bead]).filter(|next| !group.contains(next));
            // What stands for a whole group is kept with each of its members: all of it but the member itself.
            let after = next.map(|next| behind[*next] + weight(*next)).max().unwrap_or(0);
            for bead in group {
                behind[*bead] = after + whole - weight(*bead);
            }
        }
        behind
    }

    /// For each bead how many steps of waiting lead up to it at most. The beads of a circle stand beside each other.
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

    /// Each bead after all that wait for it, unless they wait in a circle.
    pub fn last_first(&self) -> impl Iterator<Item = usize> + '_ {
        self.groups.iter().flatten().copied()
    }

    /// Groups of beads that wait for each other, or a bead for itself.
    pub fn circles(&self) -> impl Iterator<Item = &Vec<usize>> {
        self.groups
            .iter()
            .filter(|group| group.len() > 1 || group.iter().any(|bead| self.waits_for[*bead].contains(bead)))
    }

    /// Beads that can never be finished as things are: in a circle, or waiting for one.
    pub fn stuck(&self) -> BTreeSet<usize> {
        self.and_all_behind(self.circles().flatten().copied())
    }

    /// These beads and everything that waits for them, however indirectly.
    pub fn and_all_behind(&self, beads: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        reach(beads, |bead| self.needed_by[bead].iter().copied())
    }

    /// The heaviest chain from a bead that waits for nothing to one that nothing waits for; among equals the oldest
    /// beads. Only for a graph without circles.
    pub fn critical_path(&self, weight: impl Fn(usize) -> u64) -> Vec<usize> {
        let behind = self.behind(&weight);
        let total = |bead: usize| weight(bead) + behind[bead];
        // The later of equals would win, so the oldest are looked at last.
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
