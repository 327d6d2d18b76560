//! The compat dialect: answers in the form that programs written for the Go `bd` expect.

use std::collections::BTreeMap;

use beads_core::{BeadFacts, BeadId, BeadView, LinkView, Slot};
use schemars::JsonSchema;
use serde::Serialize;

use super::answer::{Answer, Detail, EpicAnswer, LinkedBead, NoteAnswer, Progress};
use super::done::{Done, DoneOf};
use super::planning::ExplainAnswer;
use super::worded::Worded;

/// An answer in the compat dialect. Answers without beads look the same in both dialects.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum CompatAnswer<'a> {
    /// One mutation.
    One(DoneOf<'a, CompatBead<'a>>),
    /// Several mutations.
    Many(Vec<DoneOf<'a, CompatBead<'a>>>),
    /// `close --claim-next`.
    ClosedAndClaimed { closed: Vec<DoneOf<'a, CompatBead<'a>>>, claimed: Option<DoneOf<'a, CompatBead<'a>>> },
    /// An all-or-nothing batch.
    Batch { ids: &'a BTreeMap<String, BeadId>, results: Vec<DoneOf<'a, CompatBead<'a>>> },
    /// Beads of `show`.
    Details(Vec<CompatDetail<'a>>),
    /// A list of beads.
    Beads(Vec<CompatBead<'a>>),
    /// The neighbours of a bead.
    Linked(Vec<CompatLinked<'a>>),
    /// The progress of epics.
    Epics(Vec<CompatEpic<'a>>),
    /// Why beads are ready or not.
    Explained(ExplainAnswer<CompatBead<'a>>),
    /// Notes without a slot.
    Comments(Vec<&'a NoteAnswer>),
    /// An answer that looks the same in both dialects.
    Same(&'a Answer),
}

impl<'a> From<&'a Answer> for CompatAnswer<'a> {
    fn from(answer: &'a Answer) -> Self {
        match answer {
            Answer::One(one) => Self::One(done(one)),
            Answer::Many(many) => Self::Many(many.iter().map(done).collect()),
            Answer::ClosedAndClaimed(both) => Self::ClosedAndClaimed {
                closed: both.closed.iter().map(done).collect(),
                claimed: both.claimed.as_deref().map(done),
            },
            Answer::Batch(batch) => {
                Self::Batch { ids: &batch.ids, results: batch.results.iter().map(done).collect() }
            }
            Answer::Details(details) => Self::Details(details.iter().map(CompatDetail::of).collect()),
            Answer::Beads(beads) => Self::Beads(beads.iter().map(CompatBead::of).collect()),
            Answer::Linked(linked) => Self::Linked(linked.iter().map(CompatLinked::of).collect()),
            Answer::Epics(epics) => Self::Epics(epics.iter().map(CompatEpic::of).collect()),
            Answer::Explained(explained) => Self::Explained(explained.shown(CompatBead::of)),
            Answer::Notes(notes) => Self::Comments(notes.iter().filter(|note| note.slot.is_none()).collect()),
            other => Self::Same(other),
        }
    }
}

fn done(one: &Done) -> DoneOf<'_, CompatBead<'_>> {
    one.shown(CompatBead::of)
}

/// One bead. Links are the Go `bd`'s records (`issue_id`, `depends_on_id`, `type`) with a summary of the bead
/// at the other end.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompatBead<'a> {
    #[serde(flatten)]
    own: CompatFacts<'a>,
    dependencies: Vec<CompatLink<'a>>,
    dependents: Vec<CompatLink<'a>>,
}

/// One bead of `show`, with its neighbours as whole beads.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompatDetail<'a> {
    #[serde(flatten)]
    own: CompatFacts<'a>,
    dependencies: Vec<CompatLinked<'a>>,
    dependents: Vec<CompatLinked<'a>>,
    #[serde(flatten)]
    progress: Option<&'a Progress>,
}

/// Everything about a bead except its neighbours.
#[derive(Debug, Serialize, JsonSchema)]
struct CompatFacts<'a> {
    #[serde(flatten)]
    facts: Worded<'a, BeadFacts>,
    /// The latest text set as a whole, by `create --notes` or `update --notes`.
    notes: Option<&'a str>,
    /// All other notes, oldest first.
    comments: Vec<NoteAnswer>,
    comment_count: usize,
    dependency_count: usize,
    dependent_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_by_count: Option<usize>,
}

impl<'a> CompatFacts<'a> {
    fn of(bead: &'a BeadView) -> Self {
        let (slot, comments): (Vec<_>, Vec<_>) =
            bead.notes.iter().partition(|note| note.slot == Some(Slot::Notes));
        Self {
            facts: Worded(&bead.facts),
            notes: slot.last().and_then(|note| note.content.non_empty()),
            comment_count: comments.len(),
            comments: comments.into_iter().map(|note| NoteAnswer::new(&bead.id, note)).collect(),
            dependency_count: bead.dependencies.len(),
            dependent_count: bead.dependents.len(),
            blocked_by_count: bead.blocked_by.as_ref().map(Vec::len),
        }
    }
}

impl<'a> CompatBead<'a> {
    fn of(bead: &'a BeadView) -> Self {
        let down = bead.dependencies.iter().map(|link| CompatLink::new(link, &bead.id, &link.id));
        let up = bead.dependents.iter().map(|link| CompatLink::new(link, &link.id, &bead.id));
        Self { own: CompatFacts::of(bead), dependencies: down.collect(), dependents: up.collect() }
    }
}

impl<'a> CompatDetail<'a> {
    fn of(detail: &'a Detail) -> Self {
        Self {
            own: CompatFacts::of(&detail.bead),
            dependencies: detail.dependencies.iter().map(CompatLinked::of).collect(),
            dependents: detail.dependents.iter().map(CompatLinked::of).collect(),
            progress: detail.progress.as_ref(),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct CompatLink<'a> {
    #[serde(flatten)]
    link: Worded<'a, LinkView>,
    issue_id: &'a BeadId,
    depends_on_id: &'a BeadId,
    #[serde(rename = "type")]
    dependency_type: &'static str,
}

impl<'a> CompatLink<'a> {
    fn new(link: &'a LinkView, issue_id: &'a BeadId, depends_on_id: &'a BeadId) -> Self {
        Self { link: Worded(link), issue_id, depends_on_id, dependency_type: link.dependency_type }
    }
}

/// A whole bead at the other end of an edge.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompatLinked<'a> {
    #[serde(flatten)]
    bead: CompatBead<'a>,
    dependency_type: &'static str,
}

impl<'a> CompatLinked<'a> {
    fn of(linked: &'a LinkedBead) -> Self {
        Self { bead: CompatBead::of(&linked.bead), dependency_type: linked.dependency_type }
    }
}

/// The progress of an epic.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompatEpic<'a> {
    epic: CompatBead<'a>,
    total_children: usize,
    closed_children: usize,
    eligible_for_close: bool,
}

impl<'a> CompatEpic<'a> {
    fn of(status: &'a EpicAnswer) -> Self {
        let EpicAnswer { epic, total_children, closed_children, eligible_for_close } = status;
        Self {
            epic: CompatBead::of(epic),
            total_children: *total_children,
            closed_children: *closed_children,
            eligible_for_close: *eligible_for_close,
        }
    }
}
