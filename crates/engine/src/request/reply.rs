use std::sync::Arc;

use beads_core::{Actor, BeadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Request;
use crate::failure::Failure;
use crate::rest::Rest;

/// The answer to a request. How it travels is in [`crate::wire`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Reply {
    /// The place in the order of all mutations that this answer reflects.
    pub position: u64,
    pub exit: u8,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// The ids of the beads that the request changed, for a client that cannot show the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What became of each line of an import, for a client that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Box<RawValue>>,
    /// The number of bytes of standard output that follow the line, in place of `stdout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<usize>,
    /// The end of a long standard output, which is still on its way.
    #[serde(skip)]
    pub rest: Option<Arc<Rest>>,
    /// Claims of the caller that ended without its doing since it was last answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claim_over: Vec<ClaimOver>,
    /// Claims that this reply hands out: given back when it cannot be delivered.
    #[serde(skip)]
    pub handed_out: Vec<HandedOut>,
    /// A claim that still has to be confirmed before the reply may leave.
    #[serde(skip)]
    pub unconfirmed: Option<Box<Unconfirmed>>,
}

/// The end of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimOver {
    pub id: BeadId,
    /// The fence of the claim that is over.
    pub fence: String,
    pub reason: OverReason,
    /// Who ended it; absent when its time ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// Who holds the bead now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Actor>,
    /// What was said about a closing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl std::fmt::Display for ClaimOver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the claim on {} is over: {}", self.id, self.reason.as_str())?;
        if let Some(by) = &self.by {
            write!(f, " by {by}")?;
        }
        match &self.text {
            Some(text) => write!(f, " ({text})"),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverReason {
    /// Its bead was closed.
    Closed,
    /// Its bead was closed as not to be done.
    Cancelled,
    /// Its bead was deleted.
    Deleted,
    /// Another claim took its place.
    Taken,
    /// It was given back.
    Released,
    /// Its lease ran out.
    Expired,
}

impl OverReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Cancelled => "cancelled",
            Self::Deleted => "deleted",
            Self::Taken => "taken",
            Self::Released => "released",
            Self::Expired => "expired",
        }
    }
}

/// A claim on its way to its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedOut {
    pub actor: Actor,
    pub request_id: Option<String>,
    pub id: String,
    pub fence: String,
    /// The claim was there before: a lost reply does not end it.
    pub renewed: bool,
}

impl HandedOut {
    /// Whether the caller chose the request id, and so may ask again. An id that was drawn for it does not count.
    pub fn may_be_retried(&self) -> bool {
        self.request_id.as_ref().is_some_and(|id| !id.starts_with('~'))
    }
}

/// A claim that the remote may not have yet, as it will be shown.
#[derive(Debug, Clone)]
pub struct Unconfirmed {
    pub request: Request,
    pub claimed: serde_json::Value,
}
