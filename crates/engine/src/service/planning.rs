use std::collections::BTreeSet;

use beads_core::query::{DrawingRequest, PlanRequest, ReadyFilter};
use beads_core::{BeadFacts, BeadId, EdgeKind, Lineage};

use super::query::cycles;
use super::reader::Reader;
use crate::failure::{Code, Failure};
use crate::render::{
    Answer, ArrowAnswer, ExplainAnswer, ExplainedBead, GraphAnswer, HeldBack, LeftOutAnswer, NodeAnswer,
    PlanAnswer, SlotAnswer, TrackAnswer,
};
use crate::request::{Format, GraphFormat};

/// The default estimate of a bead without one, in minutes.
pub const DEFAULT_MINUTES: u64 = 60;

/// The maximum number of beads in a drawing. A larger one would be unreadable.
const MAX_DRAWN: usize = 2_000;

impl Reader<'_> {
    /// Explains why each bead is ready or not.
    pub(super) fn explain(&self, asked: &ReadyFilter, format: Format) -> Result<Answer, Failure> {
        let catalog = self.catalog;
        let explained = catalog.explain(asked, self.now_ms)?;
        let ready = explained.ready.iter().map(|(ready, impact)| {
            let mut bead = self.line(&ready.lineage, format)?;
            bead.facts.open_children = ready.open_children;
            Ok(ExplainedBead { bead, impact: *impact })
        });
        let not_ready = explained.not_ready.into_iter().map(|held| {
            let BeadFacts { id, title, status, priority, .. } = self.line(&held.lineage, Format::Text)?.facts;
            Ok(HeldBack { id, title, status, priority, reasons: held.reasons })
        });
        Ok(Answer::Explained(Box::new(ExplainAnswer {
            ready: ready.collect::<Result<_, Failure>>()?,
            not_ready: not_ready.collect::<Result<_, Failure>>()?,
        })))
    }

    /// Schedules the open work.
    pub(super) fn plan(&self, asked: &PlanRequest) -> Result<Answer, Failure> {
        let catalog = self.catalog;
        let plan = catalog.plan(asked, self.now_ms)?;
        let critical: BTreeSet<&Lineage> = plan.critical_path.iter().collect();
        let row = |lineage: &Lineage| self.line(lineage, Format::Text);
        let slot = |slot: &beads_core::query::Slot| {
            let BeadFacts { id, title, status, priority, assignee, .. } = row(&slot.lineage)?.facts;
            let (start, end, waits_for) = (slot.start, slot.end, self.ids(&slot.waits_for));
            let critical = critical.contains(&slot.lineage);
            Ok(SlotAnswer { id, title, status, priority, assignee, start, end, waits_for, critical })
        };
        let track = |(index, track): (usize, &Vec<beads_core::query::Slot>)| {
            let beads = track.iter().map(slot).collect::<Result<_, Failure>>()?;
            Ok(TrackAnswer { worker: index + 1, minutes: track.last().map_or(0, |slot| slot.end), beads })
        };
        let left_out = plan.left_out.iter().map(|(lineage, reason)| {
            let BeadFacts { id, title, .. } = row(lineage)?.facts;
            Ok(LeftOutAnswer { id, title, reason: *reason })
        });
        Ok(Answer::Planned(Box::new(PlanAnswer {
            workers: asked.workers,
            order: beads_core::query::SortKey::Impact.as_str(),
            minutes: plan.minutes,
            critical_path: self.ids(&plan.critical_path),
            critical_minutes: plan.critical_minutes,
            tracks: plan.tracks.iter().enumerate().map(track).collect::<Result<_, Failure>>()?,
            left_out: left_out.collect::<Result<_, Failure>>()?,
            cycles: cycles(catalog, &plan.cycles),
        })))
    }

    /// Returns the dependency graph.
    pub(super) fn graph(
        &self,
        id: Option<&String>,
        closed: bool,
        format: GraphFormat,
    ) -> Result<Answer, Failure> {
        let catalog = self.catalog;
        let asked = DrawingRequest { around: id.cloned(), closed };
        let drawing = catalog.drawing(&asked, DEFAULT_MINUTES, self.now_ms)?;
        if format == GraphFormat::Svg && drawing.beads.len() > MAX_DRAWN {
            let count = drawing.beads.len();
            let message = format!("the graph has {count} beads, but a drawing can show at most {MAX_DRAWN}");
            return Err(Failure::new(
                Code::TooLarge,
                format!("{message}; pass the id of a bead to draw only what is connected to it"),
            ));
        }
        let critical: BTreeSet<&Lineage> = drawing.critical_path.iter().collect();
        let steps: BTreeSet<(&Lineage, &Lineage)> =
            drawing.critical_path.windows(2).map(|pair| (&pair[0], &pair[1])).collect();
        let node = |(lineage, layer): &(Lineage, usize)| {
            let BeadFacts { id, title, status, priority, kind, .. } = self.line(lineage, Format::Text)?.facts;
            let critical = critical.contains(lineage);
            Ok(NodeAnswer { id, title, status, priority, issue_type: kind, layer: *layer, critical })
        };
        let edge = |(from, to, kind): &(Lineage, Lineage, EdgeKind)| ArrowAnswer {
            from: catalog.id_of(from).clone(),
            to: catalog.id_of(to).clone(),
            kind: *kind,
            critical: match kind {
                EdgeKind::Blocks => steps.contains(&(to, from)),
                EdgeKind::Parent => steps.contains(&(from, to)),
                EdgeKind::Related | EdgeKind::DiscoveredFrom => false,
            },
        };
        Ok(Answer::Graph(Box::new(GraphAnswer {
            nodes: drawing.beads.iter().map(node).collect::<Result<_, Failure>>()?,
            edges: drawing.edges.iter().map(edge).collect(),
            critical_path: self.ids(&drawing.critical_path),
            format,
        })))
    }

    fn ids(&self, lineages: &[Lineage]) -> Vec<BeadId> {
        lineages.iter().map(|lineage| self.catalog.id_of(lineage).clone()).collect()
    }
}
