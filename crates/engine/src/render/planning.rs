//! Answers about future work: `ready --explain` and `plan`.

use std::fmt::Write;

use beads_core::query::{Impact, LeftOut, Reason};
use beads_core::{BeadId, BeadView, Priority, Status, Timestamp, Title};
use schemars::JsonSchema;
use serde::Serialize;

use super::answer::CycleAnswer;
use super::memory::excerpt;
use super::style::Style;
use crate::escape::escape;

/// Why beads are ready or not.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExplainAnswer<B = BeadView> {
    /// The ready beads.
    pub ready: Vec<ExplainedBead<B>>,
    /// The other unfinished beads.
    pub not_ready: Vec<HeldBack>,
}

/// A ready bead.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExplainedBead<B = BeadView> {
    /// The bead.
    #[serde(flatten)]
    pub bead: B,
    /// How much other work waits for it.
    pub impact: Impact,
}

/// A bead that is not ready.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HeldBack {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The status.
    pub status: Status,
    /// The priority.
    pub priority: Priority,
    /// Why it is not ready.
    pub reasons: Vec<Reason>,
}

impl ExplainAnswer {
    /// Returns the answer with beads converted by `show`.
    pub fn shown<'a, B>(&'a self, show: impl Fn(&'a BeadView) -> B) -> ExplainAnswer<B> {
        let ready = self.ready.iter().map(|one| ExplainedBead { bead: show(&one.bead), impact: one.impact });
        ExplainAnswer { ready: ready.collect(), not_ready: self.not_ready.clone() }
    }
}

/// A plan for several workers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanAnswer {
    /// The number of workers.
    pub workers: usize,
    /// The order in which free workers are assumed to take beads: first by the highest priority of a bead and
    /// everything that waits for it, then by the most work that waits for it, then oldest first. `bd claim
    /// --next --sort` accepts the same name.
    pub order: &'static str,
    /// Minutes from now until the last bead is finished.
    pub minutes: u64,
    /// The critical path, in the order of work.
    pub critical_path: Vec<BeadId>,
    /// The length of the critical path.
    pub critical_minutes: u64,
    /// The work of each worker.
    pub tracks: Vec<TrackAnswer>,
    /// Beads that could not be planned.
    pub left_out: Vec<LeftOutAnswer>,
    /// Dependency cycles.
    pub cycles: Vec<CycleAnswer>,
}

/// The work of one worker.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrackAnswer {
    /// The number of the worker.
    pub worker: usize,
    /// Minutes until the last bead is finished.
    pub minutes: u64,
    /// The beads in order.
    pub beads: Vec<SlotAnswer>,
}

/// A bead in a plan.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SlotAnswer {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The status.
    pub status: Status,
    /// The priority.
    pub priority: Priority,
    /// The current assignee.
    pub assignee: Option<beads_core::Actor>,
    /// Minutes from now until it starts.
    pub start: u64,
    /// Minutes from now until it is finished.
    pub end: u64,
    /// The beads in the plan that must finish first.
    pub waits_for: Vec<BeadId>,
    /// Whether it is on the critical path.
    pub critical: bool,
}

/// A bead that could not be planned.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftOutAnswer {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// Why it was left out.
    pub reason: LeftOut,
}

/// Writes why each bead is ready or not.
pub fn explain(out: &mut String, answer: &ExplainAnswer, style: Style) {
    let ids = answer.ready.iter().map(|one| &one.bead.id).chain(answer.not_ready.iter().map(|one| &one.id));
    let width = ids.map(|id| id.as_str().len()).max().unwrap_or(0);
    let mut row = |id: &BeadId, priority, title: &Title, why: &str| {
        let id = format!("{id:<width$}");
        let title = style.fit(&escape(title.as_str()), width + why.len() + 10);
        let _ =
            writeln!(out, "{}  {}  {title}  {}", style.id(&id), style.priority(priority), style.faint(why));
    };
    for one in &answer.ready {
        let Impact { chain, unblocks } = one.impact;
        let why = match (chain, unblocks) {
            _ if one.bead.open_children.is_some() => {
                "an epic with open children: never handed out".to_owned()
            }
            (0, _) => "ready: nothing waits for it".to_owned(),
            (_, 0) => format!("ready: a chain of {chain} behind it"),
            _ => format!("ready: a chain of {chain} behind it, unblocks {unblocks}"),
        };
        row(&one.bead.id, one.bead.priority, &one.bead.title, &why);
    }
    for one in &answer.not_ready {
        let why: Vec<_> = one.reasons.iter().map(reason).collect();
        row(&one.id, one.priority, &one.title, &why.join("; "));
    }
}

fn reason(reason: &Reason) -> String {
    let time = |until: &Option<Timestamp>| until.map(|until| format!(" until {until}")).unwrap_or_default();
    match reason {
        Reason::Blocked { by } => format!("blocked by {}", list(by)),
        Reason::Held { by: Some(by), until } => format!("held by {}{}", escape(by.as_str()), time(until)),
        Reason::Held { by: None, .. } => "held".to_owned(),
        Reason::Stuck { assignee: Some(assignee) } => {
            format!("stuck: in progress by {} without a claim", escape(assignee.as_str()))
        }
        Reason::Stuck { assignee: None } => "stuck: in progress without a claim".to_owned(),
        Reason::Asked { by, question } => {
            format!("waits for an answer to {}: {}", escape(by.as_str()), escape(&excerpt(question)))
        }
        Reason::Deferred { until } => format!("deferred{}", time(until)),
        Reason::SetAside { word } => format!("set aside: {word}"),
        Reason::OpenChildren { children } => format!("open children: {}", list(children)),
    }
}

/// Writes the plan, one worker after the other.
pub fn plan(out: &mut String, plan: &PlanAnswer, style: Style) {
    for track in &plan.tracks {
        let _ = writeln!(out, "{} ({} min)", style.bold(&format!("Worker {}", track.worker)), track.minutes);
        for slot in &track.beads {
            let critical = if slot.critical { "*" } else { " " };
            let waits = if slot.waits_for.is_empty() {
                String::new()
            } else {
                format!("  after {}", list(&slot.waits_for))
            };
            let title = style.fit(&escape(slot.title.as_str()), slot.id.as_str().len() + waits.len() + 24);
            let _ = writeln!(
                out,
                "{critical} {:>6} – {:<6} {} {}  {title}{}",
                slot.start,
                slot.end,
                style.id(slot.id.as_str()),
                style.priority(slot.priority),
                style.faint(&waits)
            );
        }
    }
    if !plan.critical_path.is_empty() {
        let path: Vec<_> = plan.critical_path.iter().map(BeadId::as_str).collect();
        let _ = writeln!(out, "* critical path, {} min: {}", plan.critical_minutes, path.join(" -> "));
    }
    if !plan.tracks.is_empty() {
        let _ = writeln!(out, "assumes the order of bd claim --next --sort {}", plan.order);
    }
    for one in &plan.left_out {
        let why = match one.reason {
            LeftOut::Cycle => "part of a dependency cycle, or waits for one",
            LeftOut::Deferred => "deferred, or waits for a deferred bead",
            LeftOut::Outside => "waits for a bead outside the plan",
        };
        let _ = writeln!(out, "left out {}: {why}", style.id(one.id.as_str()));
    }
    for cycle in &plan.cycles {
        let _ = writeln!(out, "cycle ({}): {}", cycle.kind, list(&cycle.ids));
    }
}

fn list(ids: &[BeadId]) -> String {
    ids.iter().map(BeadId::as_str).collect::<Vec<_>>().join(", ")
}
