//! The summary of an import or a dry run. It accounts for every line.

use serde::{Deserialize, Serialize};

use crate::BeadId;

/// Summary of an import. Every non-blank line counts in exactly one of `created`, `updated`, `unchanged`,
/// `tombstones`, `repeated`, `attached`, `headers`, `collisions`, `collisions_skipped` and `skipped`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Non-blank lines.
    pub lines: usize,
    /// New beads.
    pub created: usize,
    /// Existing beads that the import changed.
    pub updated: usize,
    /// Beads that the store already has in this version or a newer one.
    pub unchanged: usize,
    /// Beads that the import deleted.
    pub tombstones: usize,
    /// Further lines about the same bead. They are imported too.
    pub repeated: usize,
    /// Lines with edges or notes of beads on other lines.
    pub attached: usize,
    /// Lines that describe the file instead of a bead.
    #[serde(default)]
    pub headers: usize,
    /// Deletions of unknown beads that lost their id in a collision. They are kept with the bead that holds
    /// the id.
    #[serde(default)]
    pub collisions: usize,
    /// Deletions of the same kind that were not imported, because no line has the bead that holds the id.
    #[serde(default)]
    pub collisions_skipped: Vec<Notice>,
    /// New and changed edges.
    pub edges: usize,
    /// Edges that the store already has.
    #[serde(default)]
    pub edges_unchanged: usize,
    /// Edges that were not imported. If their bead was, its `metadata` has the original.
    #[serde(default)]
    pub edges_skipped: Vec<Notice>,
    /// New notes.
    pub notes: usize,
    /// Notes that were not imported, because the file does not have their bead.
    #[serde(default)]
    pub notes_skipped: Vec<Notice>,
    /// Skipped edges whose target does not exist, or is the bead itself. The originals are in `metadata`.
    pub dangling: usize,
    /// Custom statuses and types that were kept.
    #[serde(default)]
    pub words: usize,
    /// Lines that omit a priority of 0.
    #[serde(default)]
    pub zero_priorities: usize,
    /// Beads in progress whose holder got a new lease.
    #[serde(default)]
    pub leases: usize,
    /// Beads in progress without an assignee, which never become ready. To fix one: `bd update ID --status
    /// open`.
    #[serde(default)]
    pub stuck: Vec<BeadId>,
    /// Lines that were not imported.
    pub skipped: Vec<Notice>,
    /// Values that did not fit and were changed. The originals are in `metadata`.
    pub notices: Vec<Notice>,
    /// Where the input was found, if no path was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Warnings about the input as a whole.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Whether this was a dry run, which changes nothing.
    pub dry_run: bool,
}

/// A message about a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notice {
    /// Name of the file.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Bead on the line, if it is known.
    pub id: Option<BeadId>,
    /// What happened and why.
    pub reason: String,
}

impl Summary {
    /// Returns the number of lines in all categories. It equals [`lines`](Self::lines) if every line is
    /// accounted for.
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
