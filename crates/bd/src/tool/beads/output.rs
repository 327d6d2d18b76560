//! Output types of the tools on beads: the same as `bd --json` in the spec dialect.

use beads_engine::render::{ClaimedOf, ClosedOf, ConflictAnswer, CreatedOf, SyncAnswer};
use schemars::JsonSchema;
use serde::Serialize;

pub use beads_core::BeadView as Bead;
pub use beads_core::query::Finding;
pub use beads_engine::render::EdgeAnswer as Edge;
pub use beads_engine::render::NoteAnswer as Note;
pub use beads_engine::render::TreeNode as TreeRow;

pub type ClaimedBead = ClaimedOf<'static, Bead>;
pub type ClosedBead = ClosedOf<'static, Bead>;
pub type CreatedBead = CreatedOf<'static, Bead>;

/// What a sync did, or what is waiting to be synced.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "a description of what the store answers")]
pub enum Synced {
    Done(SyncAnswer),
    Waiting(Waiting),
}

/// What is waiting to be synced.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Waiting {
    pub remote: Option<String>,
    pub commit: Option<String>,
    /// Mutations in the journal that are not saved on the ref yet.
    pub unsaved: u64,
    /// Mutations that the remote does not have yet.
    pub unsynced: u64,
    /// Why the last attempt failed.
    pub last_error: serde_json::Value,
}

/// A list, one conflict, or the bead whose conflict was resolved.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "a description of what the store answers")]
pub enum ConflictsOrBead {
    List(Vec<ConflictAnswer>),
    One(Box<ConflictAnswer>),
    Bead(Box<Bead>),
}
