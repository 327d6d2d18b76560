//! What an import did, or would do: a balance in which every line has its place.

use serde::{Deserialize, Serialize};

use crate::BeadId;

/// Every line that is not blank is in exactly one of `created`, `updated`, `unchanged`, `tombstones`, `repeated`, `attached`,
/// `headers`, `collisions`, `collisions_skipped` and `skipped`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Lines that are not blank.
    pub lines: usize,
    /// Beads that were not here.
    pub created: usize,
    /// Beads that were here and learned something.
    pub updated: usize,
    /// Beads that the store already knows as they are in the file, or newer.
    pub unchanged: usize,
    /// Beads that are deleted by this.
    pub tombstones: usize,
    /// Lines about a bead that another line was about already; both count.
    pub repeated: usize,
    /// Lines that belong to a bead of another line: edges and notes in files of their own.
    pub attached: usize,
    /// Lines that describe the file and name no bead.
    #[serde(default)]
    pub headers: usize,
    /// Deletions of a bead that lost its id to another one and is not here; the bead that holds the id stays, and keeps them.
    #[serde(default)]
    pub collisions: usize,
    /// The same where no line has the bead that holds the id: there is nothing to keep them with. Each with the reason.
    #[serde(default)]
    pub collisions_skipped: Vec<Notice>,
    /// Edges that were not here, or not so.
    pub edges: usize,
    /// Edges that were here.
    #[serde(default)]
    pub edges_unchanged: usize,
    /// Edges that were not made, and why. Those that a bead of the file has stay in its `metadata`.
    #[serde(default)]
    pub edges_skipped: Vec<Notice>,
    /// Notes that were not here.
    pub notes: usize,
    /// Notes that belong to no bead of the file.
    #[serde(default)]
    pub notes_skipped: Vec<Notice>,
    /// Edges that lead to no bead; they stay in `metadata`.
    pub dangling: usize,
    /// Words for statuses and types that are kept beside ours.
    #[serde(default)]
    pub words: usize,
    /// Lines that left out a priority of 0.
    #[serde(default)]
    pub zero_priorities: usize,
    /// Beads in progress whose holder got a fresh lease.
    #[serde(default)]
    pub leases: usize,
    /// Beads in progress that nobody holds: they are neither ready nor reclaimed. `bd update ID --status open` frees one.
    #[serde(default)]
    pub stuck: Vec<BeadId>,
    /// Lines that were refused, and why.
    pub skipped: Vec<Notice>,
    /// Values that did not fit; the originals are in `metadata`.
    pub notices: Vec<Notice>,
    /// Where the input was found, when no path was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What to know about the input as a whole.
    #[serde(default)]
    pub warnings: Vec<String>,
    pub dry_run: bool,
}

/// Something to know about a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notice {
    pub file: String,
    pub line: usize,
    pub id: Option<BeadId>,
    pub reason: String,
}

impl Summary {
    /// Lines that the balance accounts for; [`lines`](Self::lines) if it adds up.
    pub fn accounted(&self) -> usize {
        self.created
            + self.updated
            + self.unchanged
            + self.tombstones
            + self.repeated
            + self.attached
            + self.headers
            + self.collisions
            + self.collisions_skipped.len()
            + self.skipped.len()
    }
}
