use std::sync::Arc;

use beads_core::{Actor, BeadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Request;
use crate::failure::Failure;
use crate::streamed_body::StreamedBody;

/// The answer to a request. [`crate::wire`] encodes it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Reply {
    /// The number of the last mutation that this answer reflects.
    pub position: u64,
    /// The exit status of the command.
    pub exit: u8,
    /// The text for standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// The text for standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// The answer as a value, if that format was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// The ids of the beads that the request changed, for a client that cannot show the whole answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The error, if the request failed and the format is a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The decision about each line of an import, if the client asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Box<RawValue>>,
    /// The number of bytes of standard output that follow this line, instead of `stdout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<usize>,
    /// The body of a long standard output, which is still being received.
    #[serde(skip)]
    pub streamed_body: Option<Arc<StreamedBody>>,
    /// Claims of the caller that others ended, or that expired, since its last answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claim_over: Vec<ClaimOver>,
    /// The claims made by this request. They are released if the reply cannot be delivered.
    #[serde(skip)]
    pub handed_out: Vec<HandedOut>,
    /// A claim that the remote has to confirm before the reply may be sent.
    #[serde(skip)]
    pub unconfirmed: Option<Box<Unconfirmed>>,
}

/// The end of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimOver {
    /// The id of the bead.
    pub id: BeadId,
    /// The fence of the claim that ended.
    pub fence: String,
    /// Why it ended.
    pub reason: OverReason,
    /// Who ended it; absent if it expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// Who holds the bead now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Actor>,
    /// The reason given when the bead was closed.
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

/// Why a claim ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverReason {
    /// Its bead was closed.
    Closed,
    /// Its bead was cancelled.
    Cancelled,
    /// Its bead was deleted.
    Deleted,
    /// Another claim replaced it.
    Taken,
    /// It was released.
    Released,
    /// Its lease expired.
    Expired,
}

impl OverReason {
    /// Returns the reason as it is spelled in JSON.
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

/// A claim that a reply hands to its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedOut {
    /// The holder.
    pub actor: Actor,
    /// The request id under which the claim was made.
    pub request_id: Option<String>,
    /// The id of the bead.
    pub id: String,
    /// The fence of the claim.
    pub fence: String,
    /// The claim existed before, so it is kept even if the reply is lost.
    pub renewed: bool,
}

impl HandedOut {
    /// Returns whether the caller may retry under the same request id. Generated ids, which begin with `~`,
    /// do not count.
    pub fn may_be_retried(&self) -> bool {
        self.request_id.as_ref().is_some_and(|id| !id.starts_with('~'))
    }
}

/// A claim that the remote has not confirmed yet.
#[derive(Debug, Clone)]
pub struct Unconfirmed {
    /// The request that made the claim.
    pub request: Request,
    /// The answer to send once the claim is confirmed.
    pub claimed: serde_json::Value,
}
