//! The journal's record of one mutation.

use beads_core::op::Undo;
use beads_core::{Actor, Applied, Delta, EdgeKey, Lineage, NoteId, Stamp};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::repository::CommitId;

/// One acknowledged mutation: its change to the state, and the answer to its caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The position among all mutations of this replica, from 1.
    pub position: u64,
    /// When it was made, in milliseconds since 1970.
    pub at_ms: u64,
    /// The actor who made it.
    pub by: Actor,
    /// The change to the state.
    pub delta: Delta,
    /// The answer, if the request may be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Receipt>,
    /// Whether it undoes or redoes an operation.
    #[serde(default, skip_serializing_if = "Step::is_do")]
    pub step: Step,
    /// The commit that this and the following records are based on, if it changed.
    #[serde(default, rename = "ground", skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<CommitId>,
}

/// How a record changes the list of operations that its actor can undo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// It is an operation of its own.
    #[default]
    Do,
    /// It undoes the actor's newest operation that can be undone.
    Undo,
    /// It redoes the operation that the actor undid last.
    Redo,
}

impl Step {
    fn is_do(&self) -> bool {
        *self == Self::Do
    }
}

/// Identifies a request that may be repeated, so that a retry gets the first answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey {
    /// Chosen by the caller. Begins with `~` if it is short-lived, that is, only has to survive one retry.
    pub id: String,
    /// Distinguishes this request from others under the same id.
    pub digest: String,
    /// How long the answer is kept.
    pub keep_ms: u64,
}

impl RequestKey {
    /// Returns whether the answer only has to survive one retry.
    pub(crate) fn is_short_lived(&self) -> bool {
        self.id.starts_with('~')
    }
}

/// The cached answer of an operation that had nothing to do.
const UNCHANGED: &str = "unchanged";

/// The answer to a request, so that a repetition gets it instead of causing a second mutation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The id of the request.
    pub id: String,
    /// The digest of the request, to notice another request under the same id.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// When the receipt expires.
    pub until_ms: u64,
    /// The bead that the operation was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bead: Option<Lineage>,
    /// The dependency that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<EdgeKey>,
    /// The note that was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<NoteId>,
    /// Whether a claim was renewed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub renewed: bool,
    /// The fence of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Stamp>,
    /// Beads that became ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unblocked: Vec<Lineage>,
    /// The operation that was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Box<Undo>>,
    /// The answers to the operations of an all-or-nothing batch, in their order. Only the batch has an id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Self>,
    /// An answer beside or instead of a bead: the summary of an import, the result of a sync, or "unchanged".
    #[serde(default, rename = "told", skip_serializing_if = "Option::is_none")]
    pub cached_answer: Option<Value>,
}

impl Receipt {
    /// Returns the receipt of an applied operation.
    pub fn new(key: &RequestKey, now_ms: u64, applied: &Applied) -> Self {
        let (id, digest) = (key.id.clone(), key.digest.clone());
        let until_ms = now_ms.saturating_add(key.keep_ms);
        let Applied { delta: _, bead, edge, note, renewed, fence, unchanged, unblocked, warnings: _, undone } =
            applied.clone();
        let (parts, cached_answer) = (Vec::new(), unchanged.then(|| json!(UNCHANGED)));
        Self {
            id,
            digest,
            until_ms,
            bead,
            edge,
            note,
            renewed,
            fence,
            unblocked,
            undone,
            parts,
            cached_answer,
        }
    }

    /// Returns the receipt of an applied batch.
    pub(crate) fn of_batch(key: &RequestKey, now_ms: u64, applied: &[Applied]) -> Self {
        let anonymous = RequestKey { id: String::new(), digest: String::new(), keep_ms: key.keep_ms };
        let entry = |applied: &Applied| Self::new(&anonymous, now_ms, applied);
        Self { parts: applied.iter().map(entry).collect(), ..Self::new(key, now_ms, &Applied::default()) }
    }

    /// Returns a receipt that holds an answer verbatim.
    pub(crate) fn of_answer(key: &RequestKey, now_ms: u64, answer: Value) -> Self {
        Self { cached_answer: Some(answer), ..Self::new(key, now_ms, &Applied::default()) }
    }

    /// Returns whether the receipt only has to survive one retry.
    pub(crate) fn is_short_lived(&self) -> bool {
        self.id.starts_with('~')
    }

    /// Returns the first answer again. Its delta is empty, because the state already holds it.
    pub fn applied(&self) -> Applied {
        let unchanged = self.cached_answer.as_ref().is_some_and(|answer| answer == UNCHANGED);
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

/// An operation of an actor, so that it can be undone or redone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastOperation {
    /// The actor.
    pub by: Actor,
    /// When the operation was made, in milliseconds since 1970.
    pub at_ms: u64,
    /// How to undo it.
    pub undo: Undo,
    /// Whether the operation is itself an undo, so that undoing it redoes the operation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

/// The operations in a header, as JSON: few commands need them, and parsing them takes longer than the rest of
/// opening a small store.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CarriedOperations(Option<Box<RawValue>>);

impl CarriedOperations {
    /// Encodes the operations.
    pub(crate) fn new(operations: &[LastOperation]) -> Result<Self, serde_json::Error> {
        Ok(Self(if operations.is_empty() { None } else { Some(to_raw_value(operations)?) }))
    }

    fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the operations. The checksum of their frame was right, so operations that cannot be parsed were
    /// written by another version; they can then not be undone.
    pub(crate) fn parse(&self) -> Vec<LastOperation> {
        self.0.as_ref().and_then(|text| serde_json::from_str(text.get()).ok()).unwrap_or_default()
    }
}

impl PartialEq for CarriedOperations {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_ref().map(|text| text.get()) == other.0.as_ref().map(|text| text.get())
    }
}

impl Eq for CarriedOperations {}

/// The first frame of each segment: everything that must outlive the previous segments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The format version of the segment.
    pub version: u32,
    /// The position of the last record before this segment.
    pub position: u64,
    /// The last stamp minted here.
    pub last: Stamp,
    /// Short-lived receipts. Long-lived ones have their own files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<Receipt>,
    /// The last operations of each actor: first the undone ones, then the others, oldest first. A program that
    /// knows only one operation per actor reads the newest.
    #[serde(default, skip_serializing_if = "CarriedOperations::is_empty")]
    pub last_operations: CarriedOperations,
    /// The commit that the records are based on.
    #[serde(default, rename = "ground", skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<CommitId>,
}
