use std::collections::BTreeSet;

use super::plan::LeftOut;
use super::reach::reach;
use super::work_graph::WorkGraph;
use crate::{BeadType, Catalog, EdgeKind, Lineage, Result, SharedBead, Status};

/// The arguments of `graph`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrawingRequest {
    /// Draw this bead and its descendants, with all their direct and indirect blockers and dependents. If
    /// absent, draw everything except memories.
    pub around: Option<String>,
    /// Include closed beads.
    pub closed: bool,
}

/// A part of the dependency graph in layers. Blockers are in earlier layers than the beads that wait for
/// them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The beads with their layers, oldest first.
    pub beads: Vec<(Lineage, usize)>,
    /// The edges as `(from, to, kind)`: `from` depends on `to`.
    pub edges: Vec<(Lineage, Lineage, EdgeKind)>,
    /// The longest chain of unfinished beads by estimated time, in the order of work.
    pub critical_path: Vec<Lineage>,
}

impl Catalog {
    /// Returns the dependency graph, laid out in layers.
    pub fn drawing(&self, request: &DrawingRequest, default_minutes: u64, now_ms: u64) -> Result<Drawing> {
        let chosen: BTreeSet<&Lineage> = match &request.around {
            Some(name) => self.around(self.resolve(name)?),
            None => self.work().map(|(lineage, _)| lineage).collect(),
        };
        let is_shown = |lineage: &Lineage| {
            let status = self.live_bead(lineage).map(SharedBead::status);
            status.is_some_and(|status| request.closed || status != Status::Closed)
        };
        let beads: BTreeSet<&Lineage> = chosen.into_iter().filter(|lineage| is_shown(lineage)).collect();
        let edges = beads.iter().flat_map(|from| {
            let kinds = EdgeKind::ALL.into_iter();
            kinds.flat_map(move |kind| self.targets(from, kind).map(move |to| (*from, to, kind)))
        });
        let edges = edges
            .filter(|(_, to, _)| beads.contains(to))
            .map(|(from, to, kind)| (from.clone(), to.clone(), kind))
            .collect();
        let open = beads.iter().copied().filter(|lineage| self.is_unfinished(lineage)).collect();
        let (graph, _): (_, Vec<(Lineage, LeftOut)>) = self.plannable(open, now_ms);
        let path = graph.critical_path(|bead| self.minutes(graph.beads[bead], default_minutes));
        let critical_path = path.into_iter().map(|bead| graph.beads[bead].clone()).collect();
        let layers = self.layers(beads);
        let behind = layers.depth();
        let beads =
            layers.beads.iter().zip(behind).map(|(lineage, layer)| ((*lineage).clone(), layer)).collect();
        Ok(Drawing { beads, edges, critical_path })
    }

    /// Returns the graph whose depths are the layers. Closed beads count, too: a bead is in a later layer than
    /// its closed blockers, and an epic in a later one than its closed children.
    fn layers<'a>(&'a self, beads: BTreeSet<&'a Lineage>) -> WorkGraph<'a> {
        WorkGraph::from_edges(beads, |lineage| {
            let is_epic = self.bead(lineage).is_some_and(|bead| bead.kind.value.kind == BeadType::Epic);
            let children = is_epic.then(|| self.sources(lineage, EdgeKind::Parent));
            self.targets(lineage, EdgeKind::Blocks).chain(children.into_iter().flatten())
        })
    }

    pub(super) fn around<'a>(&'a self, root: &'a Lineage) -> BTreeSet<&'a Lineage> {
        let mut all = self.below(root);
        all.insert(root);
        let blockers = reach(all.iter().copied(), |bead| self.targets(bead, EdgeKind::Blocks));
        let waiting = reach(all.iter().copied(), |bead| self.sources(bead, EdgeKind::Blocks));
        all.extend(blockers.into_iter().chain(waiting));
        all
    }
}
