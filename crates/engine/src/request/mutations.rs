//! Mutations that one request carries: independent ones, or all or none.

use std::collections::BTreeMap;

use beads_core::Op;
use serde::{Deserialize, Serialize};

/// Independent mutations. One that fails does not stop the others.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutate {
    /// The mutations, in order.
    pub ops: Vec<Op>,
    /// Answer with an array even for one operation.
    #[serde(default)]
    pub many: bool,
    /// Only report what would change.
    #[serde(default)]
    pub dry_run: bool,
}

/// Mutations that are applied together, in one journal record, or not at all.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Atomic {
    /// The mutations, in order.
    pub ops: Vec<Op>,
    /// Names for the beads that operations create, each with the index of its operation. Later operations may
    /// use the names instead of ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, usize>,
    /// Only report what would change.
    #[serde(default)]
    pub dry_run: bool,
}

/// Independent mutations, each answered separately with a result or an error.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Each {
    /// The mutations, in order.
    pub ops: Vec<Op>,
    /// The index of the first operation under this request id: a long batch is sent in several requests.
    #[serde(default)]
    pub first: usize,
    /// Only report what would change.
    #[serde(default)]
    pub dry_run: bool,
}
