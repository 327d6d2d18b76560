//! Who requests a mutation.

use beads_core::{Actor, Line};

use crate::RequestKey;

/// Who requests a mutation, and under which conditions.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The actor that the mutation is attributed to.
    pub actor: Actor,
    /// The branch checked out in the caller's work tree.
    pub branch: Line,
    /// How long a claim made by this caller lasts.
    pub lease_ms: u64,
    /// Makes the mutation safe to repeat: a retry with the same key gets the first answer.
    pub request: Option<RequestKey>,
}

impl Caller {
    /// Returns whether the answer must be remembered even if the mutation changes nothing.
    pub(crate) fn requires_receipt(&self) -> bool {
        self.request.as_ref().is_some_and(|key| !key.is_short_lived())
    }
}
