//! Answers about what comes next: `ready --explain` and `plan`.

use std::fmt::Write;

use beads_core::query::{Impact, LeftOut, Reason};
use beads_core::{BeadId, BeadView, Priority, Status, Timestamp, Title};
use schemars::JsonSchema;
use serde::Serialize;

use super::answer::CycleAnswer;
use super::style::Style;
use crate::escape::escape;

/// Why these, and why not those.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExplainAnswer<B = BeadView> {
    pub ready: Vec<ExplainedBead<B>>,
    pub not_ready: Vec<HeldBack>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ExplainedBead<B = BeadView> {
    #[serde(flatten)]
    pub bead: B,
    pub impact: Impact,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HeldBack {
    pub id: BeadId,
    pub title: Title,
    pub status: Status,
    pub priority: Priority,
    pub reasons: Vec<Reason>,
}

impl ExplainAnswer {
    /// With the beads in another form.
    pub fn shown<'a, B>(&'a self, show: impl Fn(&'a BeadView) -> B) -> ExplainAnswer<B> {
        let ready = self.ready.iter().map(|one| ExplainedBead { bead: show(&one.bead), impact: one.impact });
        ExplainAnswer { ready: ready.collect(), not_ready: self.not_ready.clone() }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanAnswer {
    pub workers: usize,
    /// The order in which free workers are assumed to take beads: the most urgent of a bead and all that waits for it, then
    /// the most work behind it, then the oldest. `bd claim --next --sort` has the same word.
    pub order: &'static str,
    /// Minutes from now until the last bead is finished.
    pub minutes: u64,
    pub critical_path: Vec<BeadId>,
    pub critical_minutes: u64,
    pub tracks: Vec<TrackAnswer>,
    pub left_out: Vec<LeftOutAnswer>,
    pub cycles: Vec<CycleAnswer>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TrackAnswer {
    pub worker: usize,
    pub minutes: u64,
    pub beads: Vec<SlotAnswer>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SlotAnswer {
    pub id: BeadId,
    pub title: Title,
    pub status: Status,
    pub priority: Priority,
    pub assignee: Option<beads_core::Actor>,
    pub start: u64,
    pub end: u64,
    pub waits_for: Vec<BeadId>,
    pub critical: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftOutAnswer {
    pub id: BeadId,
    pub title: Title,
    pub reason: LeftOut,
}

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
                "an epic, done by doing its open children: never handed out".to_owned()
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
        Reason::Stuck { assignee: None } => "stuck: in progress, in nobody's hands".to_owned(),
        Reason::Deferred { until } => format!("deferred{}", time(until)),
        Reason::SetAside { word } => format!("set aside: {word}"),
        Reason::OpenChildren { children } => format!("open children: {}", list(children)),
    }
}

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
    for one in &plan.left_out {
        let why = match one.reason {
            LeftOut::Cycle => "waits in a circle, or for one",
            LeftOut::Deferred => "deferred, or waits for something that is",
            LeftOut::Outside => "waits for something outside of the plan",
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
