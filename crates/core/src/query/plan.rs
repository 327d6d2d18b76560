use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::work_graph::{Waiting, WorkGraph};
use crate::{BeadType, Catalog, EdgeKind, Error, Lineage, Priority, Result, Status};

/// The most workers to plan for.
pub const MAX_WORKERS: usize = 1_000;

/// The arguments of `plan`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// The number of workers.
    pub workers: usize,
    /// The time to assume for a bead without an estimate.
    pub default_minutes: u64,
    /// Plan only the descendants of this bead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

/// A schedule of the unfinished beads for a number of workers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// When the last bead is finished, in minutes from now.
    pub minutes: u64,
    /// The schedule of each worker. Workers without work are left out.
    pub tracks: Vec<Vec<Slot>>,
    /// The longest chain of dependent beads. No number of workers can shorten it.
    pub critical_path: Vec<Lineage>,
    /// The length of the critical path.
    pub critical_minutes: u64,
    /// The beads that cannot be scheduled.
    pub left_out: Vec<(Lineage, LeftOut)>,
    /// The dependency cycles that keep beads out of the plan.
    pub cycles: Vec<(EdgeKind, Vec<Lineage>)>,
}

/// A bead in the schedule of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The bead.
    pub lineage: Lineage,
    /// When work on it starts, in minutes from now.
    pub start: u64,
    /// When it is finished, in minutes from now.
    pub end: u64,
    /// The planned beads that must be finished before it starts.
    pub waits_for: Vec<Lineage>,
}

/// Why a bead cannot be scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// It is in a dependency cycle, or waits for a bead in one.
    Cycle,
    /// It is deferred, or waits for a deferred bead.
    Deferred,
    /// It waits for a bead that is not part of the plan.
    Outside,
}

impl Catalog {
    /// Plans the unfinished beads by list scheduling: a free worker starts the most urgent bead without open
    /// blockers. A bead is as urgent as the most urgent bead that waits for it. Among equals, the one with
    /// the longest chain of dependent work goes first, then the oldest.
    pub fn plan(&self, request: &PlanRequest, now_ms: u64) -> Result<Plan> {
        if request.workers == 0 || request.workers > MAX_WORKERS {
            return Err(Error::invalid("workers", format!("{} is not 1 to {MAX_WORKERS}", request.workers)));
        }
        let mut beads = self.unfinished();
        if let Some(root) = &request.under {
            let below = self.below(self.resolve(root)?);
            beads.retain(|lineage| below.contains(*lineage));
        }
        let (graph, left_out) = self.plannable(beads, now_ms);
        let weights: Vec<u64> =
            graph.beads.iter().map(|lineage| self.minutes(lineage, request.default_minutes)).collect();
        let path = graph.critical_path(|bead| weights[bead]);
        let tracks = self.schedule(&graph, &weights, request.workers);
        let stuck: BTreeSet<&Lineage> = left_out
            .iter()
            .filter(|(_, reason)| *reason == LeftOut::Cycle)
            .map(|(lineage, _)| lineage)
            .collect();
        let mut cycles = self.cycles();
        cycles.retain(|(_, cycle)| cycle.iter().any(|lineage| stuck.contains(lineage)));
        Ok(Plan {
            minutes: tracks.iter().filter_map(|track| Some(track.last()?.end)).max().unwrap_or(0),
            critical_minutes: path.iter().map(|bead| weights[*bead]).sum(),
            critical_path: path.into_iter().map(|bead| graph.beads[bead].clone()).collect(),
            tracks,
            left_out,
            cycles,
        })
    }

    /// Returns the graph of the beads that can be scheduled, and the other beads with the reason.
    pub(super) fn plannable<'a>(
        &'a self,
        mut beads: BTreeSet<&'a Lineage>,
        now_ms: u64,
    ) -> (WorkGraph<'a>, Vec<(Lineage, LeftOut)>) {
        let graph = WorkGraph::new(self, beads.clone(), Waiting::BlockersAndChildren);
        let is_deferred = |lineage: &Lineage| {
            let until = self.bead(lineage).and_then(|bead| bead.defer_until.value);
            until.is_some_and(|until| until.ms() > now_ms)
        };
        let waits_outside =
            |lineage: &Lineage| self.open_blockers(lineage).any(|blocker| !beads.contains(blocker));
        let those = |holds: &dyn Fn(&Lineage) -> bool| -> Vec<usize> {
            (0..graph.beads.len()).filter(|bead| holds(graph.beads[*bead])).collect()
        };
        let reasons = [
            (LeftOut::Cycle, graph.stuck()),
            (LeftOut::Deferred, graph.with_dependents(those(&is_deferred))),
            (LeftOut::Outside, graph.with_dependents(those(&waits_outside))),
        ];
        let mut left_out: BTreeMap<&Lineage, LeftOut> = BTreeMap::new();
        for (reason, numbers) in reasons {
            for number in numbers {
                left_out.entry(graph.beads[number]).or_insert(reason);
            }
        }
        beads.retain(|lineage| !left_out.contains_key(lineage));
        let left_out = left_out.into_iter().map(|(lineage, reason)| (lineage.clone(), reason)).collect();
        (WorkGraph::new(self, beads, Waiting::BlockersAndChildren), left_out)
    }

    /// Returns the time a bead takes. An epic with open children takes none unless it has an estimate: its
    /// children are the work.
    pub(super) fn minutes(&self, lineage: &Lineage, default_minutes: u64) -> u64 {
        let Some(bead) = self.bead(lineage) else { return 0 };
        let is_container =
            bead.kind.value.kind == BeadType::Epic && self.open_children(lineage).next().is_some();
        match bead.estimated_minutes.value {
            Some(estimate) => u64::from(estimate.minutes()),
            None if is_container => 0,
            None => default_minutes,
        }
    }

    fn schedule(&self, graph: &WorkGraph<'_>, weights: &[u64], workers: usize) -> Vec<Vec<Slot>> {
        let urgency = self.urgency(graph);
        let behind = graph.longest_chain_after(|bead| weights[bead]);
        let key = |bead: usize| {
            let started =
                self.bead(graph.beads[bead]).is_some_and(|bead| bead.status() == Status::InProgress);
            (!started, urgency[bead], Reverse(weights[bead] + behind[bead]), bead)
        };
        let mut missing: Vec<usize> = graph.waits_for.iter().map(Vec::len).collect();
        let mut ready: BTreeSet<_> =
            (0..graph.beads.len()).filter(|bead| missing[*bead] == 0).map(key).collect();
        // `free` holds idle workers. `running` holds `(end, worker, bead)`, so the next bead to finish is
        // first.
        let mut free: BTreeSet<usize> = (0..workers).collect();
        let mut running: BTreeSet<(u64, usize, usize)> = BTreeSet::new();
        let mut tracks: Vec<Vec<Slot>> = vec![Vec::new(); workers];
        let mut now = 0;
        loop {
            while let (Some(worker), Some(&(.., bead))) = (free.first().copied(), ready.first()) {
                ready.pop_first();
                free.remove(&worker);
                let end = now + weights[bead];
                running.insert((end, worker, bead));
                let waits_for =
                    graph.waits_for[bead].iter().map(|before| graph.beads[*before].clone()).collect();
                tracks[worker].push(Slot { lineage: graph.beads[bead].clone(), start: now, end, waits_for });
            }
            let Some(&(end, ..)) = running.first() else { break };
            now = end;
            while let Some(&(end, worker, bead)) = running.first()
                && end == now
            {
                running.pop_first();
                free.insert(worker);
                for next in &graph.needed_by[bead] {
                    missing[*next] -= 1;
                    if missing[*next] == 0 {
                        ready.insert(key(*next));
                    }
                }
            }
        }
        tracks.retain(|track| !track.is_empty());
        tracks
    }

    /// Returns for each bead the most urgent priority among itself and all beads that wait for it.
    fn urgency(&self, graph: &WorkGraph<'_>) -> Vec<Priority> {
        let mut urgency: Vec<Priority> = graph
            .beads
            .iter()
            .map(|lineage| self.bead(lineage).map_or_else(Priority::default, |bead| bead.priority.value))
            .collect();
        for bead in graph.dependents_first() {
            for next in &graph.needed_by[bead] {
                urgency[bead] = urgency[bead].min(urgency[*next]);
            }
        }
        urgency
    }
}
