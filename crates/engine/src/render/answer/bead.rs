//! Beads in answers: with their neighbours, notes and counts.

use beads_core::query::{Group, TreeRow};
use beads_core::{
    Actor, BeadId, BeadType, BeadView, Catalog, EdgeKey, EdgeKind, Note, Priority, Slot, Stamp, Status, Text,
    Timestamp, Title,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::ConflictAnswer;

/// A bead for `show`. Only the compat dialect shows its neighbours as whole beads.
#[derive(Debug)]
pub struct Detail {
    /// The bead.
    pub bead: BeadView,
    /// The beads it depends on. Empty in the spec dialect.
    pub dependencies: Vec<LinkedBead>,
    /// The beads that depend on it. Empty in the spec dialect.
    pub dependents: Vec<LinkedBead>,
    /// The progress of an epic with children.
    pub progress: Option<Progress>,
    /// For a claimed bead: whether the remote confirmed the claim.
    pub confirmed: Option<bool>,
    /// The undismissed conflicts of the bead. Only for a terminal.
    pub conflicts: Vec<ConflictAnswer>,
    /// When the session that holds the bead was last heard from. Only for a terminal.
    pub last_seen: Option<Timestamp>,
}

/// The progress of an epic, with the field names of the Go `bd`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Progress {
    /// The number of children.
    #[serde(rename = "epic_total_children")]
    pub total: usize,
    /// The number of closed children.
    #[serde(rename = "epic_closed_children")]
    pub closed: usize,
    /// Whether all children are closed.
    #[serde(rename = "epic_closeable")]
    pub closeable: bool,
}

/// One bead of `show`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DetailOf<'a> {
    #[serde(flatten)]
    bead: &'a BeadView,
    #[serde(flatten)]
    progress: Option<&'a Progress>,
    /// For a claimed bead: whether a ref on the remote confirms the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<bool>,
}

impl Serialize for Detail {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let confirmed = self.confirmed;
        DetailOf { bead: &self.bead, progress: self.progress.as_ref(), confirmed }.serialize(serializer)
    }
}

/// The answer to `dep add` and `dep remove` (contract 1).
#[derive(Debug, Serialize, JsonSchema)]
pub struct EdgeAnswer {
    /// `added` or `removed`.
    pub status: &'static str,
    /// The bead that depends on the other one.
    pub issue_id: BeadId,
    /// The bead it depends on.
    pub depends_on_id: BeadId,
    /// The kind as clients of the Go `bd` name it.
    #[serde(rename = "type")]
    pub dependency_type: &'static str,
    /// The kind of the dependency.
    pub kind: EdgeKind,
}

impl EdgeAnswer {
    /// Returns an edge with the current ids of its ends, or `None` if an end is an id that no bead holds.
    pub fn of(catalog: &Catalog, key: &EdgeKey, status: &'static str) -> Option<Self> {
        let (from, to) = (key.from.lineage()?, key.to.lineage()?);
        Some(Self {
            status,
            issue_id: catalog.id_of(from).clone(),
            depends_on_id: catalog.id_of(to).clone(),
            dependency_type: key.kind.client_name(),
            kind: key.kind,
        })
    }
}

/// A bead at the other end of an edge, in full.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LinkedBead {
    /// The bead.
    #[serde(flatten)]
    pub bead: BeadView,
    /// The kind as clients of the Go `bd` name it.
    pub dependency_type: &'static str,
    /// The kind of the dependency.
    pub kind: EdgeKind,
}

/// A note with the bead it belongs to. Clients of the Go `bd` read `text` and `created_at`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NoteAnswer {
    /// The id of the note.
    pub id: String,
    /// The bead.
    pub issue_id: BeadId,
    /// The author.
    pub author: Actor,
    /// The text.
    pub content: Text,
    /// The text again, for clients of the Go `bd`.
    pub text: Text,
    /// The stamp of the note.
    pub at: Stamp,
    /// The time of the note.
    pub created_at: String,
    /// The slot of a note that was set as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
}

impl NoteAnswer {
    /// Returns the note of a bead as an answer.
    pub fn new(bead: &BeadId, note: &Note) -> Self {
        Self {
            id: note.id.to_string(),
            issue_id: bead.clone(),
            author: note.author.clone(),
            content: note.content.clone(),
            text: note.content.clone(),
            at: note.at,
            created_at: Timestamp::from(note.at).to_string(),
            slot: note.slot,
        }
    }
}

/// A row of `dep tree`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TreeNode {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The status.
    pub status: Status,
    /// The priority.
    pub priority: Priority,
    /// The type.
    pub issue_type: BeadType,
    /// The distance from the root.
    pub depth: usize,
    /// The kind of the edge to the parent row; null for the root.
    pub dependency_type: Option<&'static str>,
    /// Whether this is the last child of its parent.
    #[serde(skip)]
    pub last: bool,
    /// Whether rows below were left out, because of a cycle or a limit.
    pub truncated: bool,
}

impl TreeNode {
    /// Returns a row of the tree.
    pub fn new(view: &BeadView, row: &TreeRow) -> Self {
        Self {
            id: view.id.clone(),
            title: view.title.clone(),
            status: view.status,
            priority: view.priority,
            issue_type: view.kind,
            depth: row.depth,
            dependency_type: row.kind.map(EdgeKind::client_name),
            last: row.last,
            truncated: row.cut,
        }
    }
}

/// A dependency cycle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CycleAnswer {
    /// The kind of its edges.
    pub kind: EdgeKind,
    /// Its beads.
    pub ids: Vec<BeadId>,
}

/// The progress of an epic.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EpicAnswer {
    /// The epic.
    pub epic: BeadView,
    /// The number of children.
    pub total_children: usize,
    /// The number of closed children.
    pub closed_children: usize,
    /// Whether all children are closed.
    pub eligible_for_close: bool,
}

/// The output of `count`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CountAnswer {
    /// The number of beads.
    pub count: usize,
}

/// Counts by group. Groups may overlap, so the total is not their sum.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CountByAnswer {
    /// The number of beads.
    pub total: usize,
    /// The groups with their counts.
    pub groups: Vec<Group>,
}
