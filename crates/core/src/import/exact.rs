//! What a line of our own export says beyond the Go shape: the exact stamps. Only there when the rest of the line would
//! not give them, and only believed while the rest is as we wrote it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::body::FieldName;
use crate::canonical::{hex, to_canonical};
use crate::{Actor, BeadId, Line, Mark, Slot, Stamp, Timestamp};

/// The field it stands in.
pub(crate) const NAME: &str = "_bd";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exact {
    /// Of all other fields; see [`sum`].
    pub sum: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<BeadId>,
    pub created: Stamp,
    pub created_by: Actor,
    /// The mark of all registers that `v` does not list.
    pub at: Stamp,
    pub by: Actor,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub v: BTreeMap<FieldName, Mark>,
    #[serde(default, skip_serializing_if = "Line::is_empty")]
    pub created_on_branch: Line,
    #[serde(default, skip_serializing_if = "Line::is_empty")]
    pub closed_on_branch: Line,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee_expires: Option<Timestamp>,
    /// For each of `comments`, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<(Stamp, Option<Slot>)>,
    /// Of `notes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Mark>,
    /// For each of `dependencies`, in order: its creation and its last change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Option<(Mark, Mark)>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Mark>,
    /// Registers whose values the fields of the line are not enough to tell, such as what was kept of an import after
    /// somebody wrote over it here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<FieldName, Value>,
}

/// A checksum of the other fields of a line, whatever their order and spacing.
pub(crate) fn sum(others: &Map<String, Value>) -> String {
    hex(&Sha256::digest(to_canonical(others)))[..16].to_owned()
}

/// Whether the line is still as it was written. An edit shows in the checksum; then the stamps of the Go shape count,
/// and the birth alone is believed.
pub(super) fn believed(exact: &Exact, others: &Map<String, Value>) -> bool {
    exact.sum == sum(others)
}
