//! The result of a repair.

use schemars::JsonSchema;
use serde::Serialize;

/// What `repair` did or would do.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct RepairAnswer {
    /// The damage found; empty when the store is healthy.
    pub damage: Vec<String>,
    /// Whether the repair was applied.
    pub applied: bool,
    /// The actions done or planned.
    pub actions: Vec<String>,
    /// Data that could not be read. It is kept in the backup.
    pub unreadable: Vec<UnreadableAnswer>,
    /// The ref that keeps the damaged commit.
    pub backup: Option<String>,
    /// What the branch and the journal hold without the repair.
    pub before: Option<BalanceAnswer>,
    /// What the store holds after the repair.
    pub after: Option<BalanceAnswer>,
}

/// How much a store holds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BalanceAnswer {
    /// The number of beads.
    pub beads: usize,
    /// The number of deleted beads.
    pub deleted: usize,
    /// The number of dependencies.
    pub dependencies: usize,
}

/// A part of a file that could not be read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadableAnswer {
    /// The file.
    pub file: String,
    /// The line.
    pub line: Option<usize>,
    /// Why it could not be read.
    pub reason: String,
}
