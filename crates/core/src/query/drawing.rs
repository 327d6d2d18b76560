use std::collections::BTreeSet;

use super::plan::LeftOut;
use super::reach::reach;
use super::work_graph::{Waiting, WorkGraph};
use crate::{Catalog, EdgeKind, Lineage, Result, Status};

/// What `graph` is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrawingOf {
    /// This bead with everything below it, everything they wait for, and everything that waits for them; else all work.
    pub around: Option<String>,
    /// Closed beads too.
    pub closed: bool,
}

/// A part of the graph, laid out: beads in layers, so that work flows from each layer to later ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawing {
    /// Oldest first, each with its layer.
    pub beads: Vec<(Lineage, usize)>,
    /// `(from, to)`: from waits for to, or is its child, and so on.
    pub edges: Vec<(Lineage, Lineage, EdgeKind)>,
    /// The chain of unfinished beads that takes longest, in the order of work.
    pub critical_path: Vec<Lineage>,
}

impl Catalog {
    pub fn drawing(&self, asked: &DrawingOf, default_minutes: u64, now_ms: u64) -> Result<Drawing> {
        let chosen: BTreeSet<&Lineage> = match &asked.around {
            Some(name) => self.around(self.resolve(name)?),
            None => self.work().map(|(lineage, _)| lineage).collect(),
        };
        let is_shown = |lineage: &Lineage| {
            let status = self.live_bead(lineage).map(|bead| bead.status());
            status.is_some_and(|status| asked.closed || status != Status::Closed)
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
        let layers = WorkGraph::new(self, beads, Waiting::BlockersAndChildren);
        let behind = layers.depth();
        let beads =
            layers.beads.iter().zip(behind).map(|(lineage, layer)| ((*lineage).clone(), layer)).collect();
        Ok(Drawing { beads, edges, critical_path })
    }

    fn around<'a>(&'a self, root: &'a Lineage) -> BTreeSet<&'a Lineage> {
        let mut all = self.below(root);
        all.insert(root);
        let blockers = reach(all.iter().copied(), |bead| self.targets(bead, EdgeKind::Blocks));
        let waiting = reach(all.iter().copied(), |bead| self.sources(bead, EdgeKind::Blocks));
        all.extend(blockers.into_iter().chain(waiting));
        all
    }
}
