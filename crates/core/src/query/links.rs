//! Which beads wait for which, without their texts: what a picture of a large store needs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::drawing::DrawingRequest;
use crate::{BeadId, BeadType, Catalog, EdgeKind, Lineage, Result, SharedBead};

/// How deep epics may be nested.
const MAX_DEPTH: usize = 50;

/// The beads with blocking edges.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links {
    /// The beads that wait for others or that others wait for, oldest first.
    pub beads: Vec<BeadId>,
    /// The topmost ancestor of each of them.
    pub epics: Vec<Option<BeadId>>,
    /// The edges by the numbers of the beads, as `(before, after)`: `after` waits for `before`.
    pub edges: Vec<(usize, usize)>,
    /// The number of beads without such edges. Epics do not count.
    pub unlinked: usize,
    /// The longest chain of unfinished beads by estimated time, in the order of work.
    pub critical_path: Vec<BeadId>,
}

impl Catalog {
    /// Returns which beads wait for which. The cost follows the number of beads with edges, and one look at
    /// each of the others.
    pub fn links(&self, request: &DrawingRequest, default_minutes: u64, now_ms: u64) -> Result<Links> {
        let around = match &request.around {
            Some(name) => Some(self.around(self.resolve(name)?)),
            None => None,
        };
        let is_chosen = |lineage: &Lineage| around.as_ref().is_none_or(|around| around.contains(lineage));
        let is_shown = |lineage: &Lineage, bead: &SharedBead| {
            is_chosen(lineage) && (request.closed || self.is_unfinished(lineage)) && !bead.is_memory()
        };
        let shows = |lineage: &Lineage| self.live_bead(lineage).is_some_and(|bead| is_shown(lineage, bead));
        let mut linked: BTreeSet<&Lineage> = BTreeSet::new();
        let mut edges: Vec<(&Lineage, &Lineage)> = Vec::new();
        let mut work = 0;
        let mut linked_work = 0;
        for (after, bead) in self.live().filter(|(lineage, bead)| is_shown(lineage, bead)) {
            let is_work = usize::from(bead.kind.value.kind != BeadType::Epic);
            work += is_work;
            let known = edges.len();
            let before = self.targets(after, EdgeKind::Blocks).filter(|before| shows(before));
            edges.extend(before.map(|before| (before, after)));
            linked.extend(edges[known..].iter().flat_map(|(before, after)| [*before, *after]));
            let is_linked = edges.len() > known || self.sources(after, EdgeKind::Blocks).any(&shows);
            linked_work += if is_linked { is_work } else { 0 };
        }
        let numbers: BTreeMap<&Lineage, usize> =
            linked.iter().enumerate().map(|(number, lineage)| (*lineage, number)).collect();
        let ids = |lineages: &mut dyn Iterator<Item = &Lineage>| -> Vec<BeadId> {
            lineages.map(|lineage| self.id_of(lineage).clone()).collect()
        };
        let chain = self.chain(&linked, default_minutes, now_ms);
        Ok(Links {
            beads: ids(&mut linked.iter().copied()),
            epics: linked
                .iter()
                .map(|lineage| self.topmost(lineage).map(|top| self.id_of(top).clone()))
                .collect(),
            edges: edges.iter().map(|(before, after)| (numbers[before], numbers[after])).collect(),
            unlinked: work - linked_work,
            critical_path: ids(&mut chain.into_iter()),
        })
    }

    /// Returns the longest chain of unfinished beads among linked ones. An epic without edges of its own only
    /// contains work, so it is no step.
    fn chain<'a>(
        &'a self,
        linked: &BTreeSet<&'a Lineage>,
        default_minutes: u64,
        now_ms: u64,
    ) -> Vec<&'a Lineage> {
        let open = linked.iter().copied().filter(|lineage| self.is_unfinished(lineage)).collect();
        let (graph, _) = self.plannable(open, now_ms);
        let path = graph.critical_path(|bead| self.minutes(graph.beads[bead], default_minutes));
        path.into_iter().map(|bead| graph.beads[bead]).collect()
    }

    /// Returns the topmost ancestor of a bead.
    fn topmost<'a>(&'a self, lineage: &'a Lineage) -> Option<&'a Lineage> {
        std::iter::successors(self.parent(lineage), |parent| self.parent(parent)).take(MAX_DEPTH).last()
    }
}
