use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::work_graph::{Waiting, WorkGraph};
use crate::{BeadType, Catalog, EdgeKind, Error, Lineage, Priority, Result, Status};

/// More hands than this are no plan.
pub const MAX_WORKERS: usize = 1_000;

/// What `plan` is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFor {
    pub workers: usize,
    /// How long a bead without an estimate is taken to last.
    pub default_minutes: u64,
    /// Only beads below this one, at any depth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

/// Unfinished beads, dealt out to workers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// When the last bead is finished, in minutes from now.
    pub minutes: u64,
    /// One for each worker who has anything to do.
    pub tracks: Vec<Vec<Slot>>,
    /// The chain that takes longest, however many workers there are.
    pub critical_path: Vec<Lineage>,
    pub critical_minutes: u64,
    pub left_out: Vec<(Lineage, LeftOut)>,
    pub cycles: Vec<(EdgeKind, Vec<Lineage>)>,
}

/// A bead on a track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    pub lineage: Lineage,
    pub start: u64,
    pub end: u64,
    /// Beads of the plan that must be finished before it starts.
    pub waits_for: Vec<Lineage>,
}

/// Why a bead has no place in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// It waits in a circle, or for a bead that does.
    Cycle,
    /// It, or a bead it waits for, is deferred into the future.
    Deferred,
    /// It waits for a bead outside of what is planned.
    Outside,
}

impl Catalog {
    /// List scheduling: whenever a worker is free, the most urgent bead that waits for nothing is started. A bead is as
    /// urgent as the most urgent one that waits for it; then the one with more work behind it goes first, then the older.
    pub fn plan(&self, asked: &PlanFor, now_ms: u64) -> Result<Plan> {
        if asked.workers == 0 || asked.workers > MAX_WORKERS {
            return Err(Error::invalid("workers", format!("{} is not 1 to {MAX_WORKERS}", asked.workers)));
        }
        let mut beads = self.unfinished();
        if let Some(root) = &asked.under {
            let below = self.below(self.resolve(root)?);
            beads.retain(|lineage| below.contains(*lineage));
        }
        let (graph, left_out) = self.plannable(beads, now_ms);
        let weights: Vec<u64> =
            graph.beads.iter().map(|lineage| self.minutes(lineage, asked.default_minutes)).collect();
        let path = graph.critical_path(|bead| weights[bead]);
        let tracks = self.deal(&graph, &weights, asked.workers);
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

    /// The beads that can be finished, and the others with what stands in their way.
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
            (LeftOut::Deferred, graph.and_all_behind(those(&is_deferred))),
            (LeftOut::Outside, graph.and_all_behind(those(&waits_outside))),
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

    /// An epic is done by doing its children, so by itself it takes no time unless somebody says so.
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

    fn deal(&self, graph: &WorkGraph<'_>, weights: &[u64], workers: usize) -> Vec<Vec<Slot>> {
        let urgency = self.urgency(graph);
        let behind = graph.behind(|bead| weights[bead]);
        let key = |bead: usize| {
            let started =
                self.bead(graph.beads[bead]).is_some_and(|bead| bead.status() == Status::InProgress);
            (!started, urgency[bead], Reverse(weights[bead] + behind[bead]), bead)
        };
        let mut missing: Vec<usize> = graph.waits_for.iter().map(Vec::len).collect();
        let mut ready: BTreeSet<_> =
            (0..graph.beads.len()).filter(|bead| missing[*bead] == 0).map(key).collect();
        // Workers by the time at which they are free, beads under way by the time at which they are finished.
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

    /// The priority of each bead, or of the most urgent one behind it.
    fn urgency(&self, graph: &WorkGraph<'_>) -> Vec<Priority> {
        let mut urgency: Vec<Priority> = graph
            .beads
            .iter()
            .map(|lineage| self.bead(lineage).map_or_else(Priority::default, |bead| bead.priority.value))
            .collect();
        for bead in graph.last_first() {
            for next in &graph.needed_by[bead] {
                urgency[bead] = urgency[bead].min(urgency[*next]);
            }
        }
        urgency
    }
}
