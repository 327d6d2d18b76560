//! What the journal keeps of one mutation.

use beads_core::op::Undo;
use beads_core::{Actor, Applied, Delta, EdgeKey, Lineage, NoteId, Stamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::repository::CommitId;

/// One acknowledged mutation: what it added to the state, and what its caller was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The place in the single order of all mutations of this replica, from 1.
    pub position: u64,
    pub at_ms: u64,
    pub by: Actor,
    pub delta: Delta,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Receipt>,
    /// The commit that this and what follows builds on, when it is another than before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground: Option<CommitId>,
}

/// A request that may come again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Begins with `~` when it only has to outlive the loss of one reply.
    pub id: String,
    /// Tells this request from others that come under the same id.
    pub digest: String,
    /// How long it is remembered.
    pub keep_ms: u64,
}

impl Asked {
    pub fn is_passing(&self) -> bool {
        self.id.starts_with('~')
    }
}

/// Stands in a receipt for an operation that had nothing to do.
const UNCHANGED: &str = "unchanged";

/// Remembers a request, so that its repetition gets the first answer instead of a second mutation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    pub id: String,
    /// Of the request, so that another one under the same id is noticed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Until when the receipt is kept.
    pub until_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bead: Option<Lineage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<EdgeKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<NoteId>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub renewed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unblocked: Vec<Lineage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Box<Undo>>,
    /// What each operation of an all-or-nothing batch was told, in their order. Only the batch has an id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Self>,
    /// What was told beside or instead of a bead: an import's summary, a sync's outcome, [`UNCHANGED`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Value>,
}

impl Receipt {
    pub fn new(asked: &Asked, now_ms: u64, applied: &Applied) -> Self {
        let (id, digest) = (asked.id.clone(), asked.digest.clone());
        let until_ms = now_ms.saturating_add(asked.keep_ms);
        let Applied { delta: _, bead, edge, note, renewed, fence, unchanged, unblocked, warnings: _, undone } =
            applied.clone();
        let (parts, told) = (Vec::new(), unchanged.then(|| json!(UNCHANGED)));
        Self { id, digest, until_ms, bead, edge, note, renewed, fence, unblocked, undone, parts, told }
    }

    pub fn of_batch(asked: &Asked, now_ms: u64, applied: &[Applied]) -> Self {
        let nameless = Asked { id: String::new(), digest: String::new(), keep_ms: asked.keep_ms };
        let part = |applied: &Applied| Self::new(&nameless, now_ms, applied);
        Self { parts: applied.iter().map(part).collect(), ..Self::new(asked, now_ms, &Applied::default()) }
    }

    pub fn of_answer(asked: &Asked, now_ms: u64, told: Value) -> Self {
        Self { told: Some(told), ..Self::new(asked, now_ms, &Applied::default()) }
    }

    pub fn is_passing(&self) -> bool {
        self.id.starts_with('~')
    }

    /// The first answer again; the delta is in the state already.
    pub fn applied(&self) -> Applied {
        let unchanged = self.told.as_ref().is_some_and(|told| told == UNCHANGED);
        let Self { bead, edge, note, renewed, fence, unblocked, undone, .. } = self.clone();
        Applied {
            delta: Delta::default(),
            bead,
            edge,
            note,
            renewed,
            fence,
            unchanged,
            unblocked,
            warnings: Vec::new(),
            undone,
        }
    }
}

/// What somebody did last, so that it can be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastOperation {
    pub by: Actor,
    pub at_ms: u64,
    pub undo: Undo,
}

/// The first frame of each segment: what must outlive the segments before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub version: u32,
    /// The position of the last record before this segment.
    pub position: u64,
    /// The last stamp minted here.
    pub last: Stamp,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<Receipt>,
    /// The last operation of each actor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_operations: Vec<LastOperation>,
    /// The commit that the records build on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground: Option<CommitId>,
}
