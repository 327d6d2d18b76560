//! The exact stamps that our own export adds to a line in the format of the Go `bd`. An export writes them
//! only if they cannot be derived from the rest of the line. An import uses them only if the rest of the line
//! is unchanged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::body::FieldName;
use crate::canonical::{hex, to_canonical};
use crate::{Actor, BeadId, Line, Mark, Slot, Stamp, Timestamp};

/// The name of the field.
pub(crate) const NAME: &str = "_bd";

/// The content of the field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exact {
    /// The checksum of all other fields; see [`sum`].
    pub sum: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<BeadId>,
    pub created: Stamp,
    pub created_by: Actor,
    /// The stamp of all registers that are not in `v`.
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
    /// The stamp and slot of each of the `comments`, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<(Stamp, Option<Slot>)>,
    /// The mark of `notes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Mark>,
    /// The marks of creation and last change of each of the `dependencies`, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Option<(Mark, Mark)>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Mark>,
    /// Values that cannot be derived from the fields of the line, such as data kept from an import for a
    /// field that was overwritten since.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<FieldName, Value>,
}

/// Returns a checksum of the other fields of a line. It does not depend on their order or on whitespace.
pub(crate) fn sum(others: &Map<String, Value>) -> String {
    hex(&Sha256::digest(to_canonical(others)))[..16].to_owned()
}

/// Returns whether the line is unchanged since it was exported. For an edited line, the times in its ordinary
/// fields count, and only the creation is taken from the exact stamps.
pub(super) fn is_trusted(exact: &Exact, others: &Map<String, Value>) -> bool {
    exact.sum == sum(others)
}
