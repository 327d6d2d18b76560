//! The results of a sync, and the conflicts it left.

use beads_core::{Actor, BeadId, Stamp, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a sync.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SyncAnswer {
    /// The remote; absent when there is none, in which case only the local ref was saved.
    pub remote: Option<String>,
    /// The commit of the ref.
    pub commit: Option<String>,
    /// Whether changes came from the remote.
    pub pulled: bool,
    /// Whether changes went to the remote.
    pub pushed: bool,
    /// The number of rounds it took.
    pub rounds: u32,
    /// The number of new conflicts.
    pub conflicts: usize,
    /// The number of beads in the store, if this sync was the first of this clone and joined the store that the remote had.
    pub joined: Option<usize>,
}

/// A fingerprint of the state. Replicas with the same state have the same fingerprint.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifyAnswer {
    /// The fingerprint.
    pub fingerprint: String,
    /// The commit of the ref.
    pub commit: Option<String>,
    /// The number of beads.
    pub beads: usize,
    /// The number of deleted beads.
    pub deleted: usize,
    /// The number of conflicts.
    pub conflicts: usize,
}

/// A conflict, or an id that a bead lost to an older one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConflictAnswer {
    /// The id of the conflict.
    pub id: String,
    /// The kind of conflict.
    pub kind: &'static str,
    /// The bead.
    pub bead: BeadId,
    /// The title of the bead.
    pub title: Option<Title>,
    /// The field that was written concurrently.
    pub field: Option<&'static str>,
    /// The value that lost, as plain JSON.
    pub value: serde_json::Value,
    /// The current value.
    pub current: serde_json::Value,
    /// The stamp of the value that lost.
    pub at: Stamp,
    /// The author of the value that lost.
    pub by: Actor,
    /// The stamp of the value that won.
    pub won_at: Option<Stamp>,
    /// The author of the value that won.
    pub won_by: Option<Actor>,
    /// The author of the current value, if it is not the one that won.
    #[serde(skip)]
    pub current_by: Option<Actor>,
    /// Whether it was dismissed.
    pub dismissed: bool,
    /// For a remapped id: the id with which the bead was created.
    pub born: Option<BeadId>,
}
