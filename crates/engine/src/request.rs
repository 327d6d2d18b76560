//! Requests to the daemon or to a [`Service`](crate::service::Service), as they are sent over the socket
//! (docs/PROTOCOL.md).

mod call;
mod clock;
mod export_format;
mod import_source;
mod label_words;
mod mutations;
mod older_client;
mod output;
mod query;
mod reply;
mod resolve_conflicts;

pub use call::Call;
pub use clock::{LocalClock, Zone};
pub use export_format::ExportFormat;
pub use import_source::{ImportSource, InputNotes};
pub use label_words::LabelWords;
pub use mutations::{Atomic, Each, Mutate};
pub use output::{Format, Output};
pub use query::{ActivityQuery, EventsQuery, GraphFormat, Moment, Query, RecapFormat, RecapQuery};
pub use reply::{ClaimOver, HandedOut, OverReason, Reply, Unconfirmed};
pub use resolve_conflicts::ResolveConflicts;

use std::borrow::Cow;
use std::time::Instant;

use beads_core::{Actor, Line};
use serde::{Deserialize, Serialize};

use crate::session_id::SessionId;

/// A request: one JSON line on the socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The version of the client. A daemon that is older than its client exits, so that a newer one replaces
    /// it.
    pub client: String,
    /// Who makes the request.
    pub actor: Actor,
    /// The git branch that is checked out where the client runs; empty if there is none.
    #[serde(default, skip_serializing_if = "Line::is_empty")]
    pub branch: Line,
    /// The session (one run of an agent) that makes the request, if known. Never synced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Makes a mutation safe to retry. The JSON tools call it `idempotency_key`; the protocol accepts both
    /// names.
    #[serde(default, alias = "idempotency_key", skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Do not update the file at `export.path` because of this request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_export: bool,
    /// Do not contact the remote for this request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
    /// The operation or question.
    pub call: Call,
    /// How to render the answer.
    #[serde(default)]
    pub output: Output,
}

impl Request {
    /// Returns the request with its wait reduced to the time left, so that a retry does not start the wait
    /// over.
    pub fn with_remaining_wait(&self, give_up: Instant) -> Cow<'_, Self> {
        let Call::Wait { call, .. } = &self.call else { return Cow::Borrowed(self) };
        let left = give_up.saturating_duration_since(Instant::now());
        let ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        Cow::Owned(Self { call: Call::Wait { ms, call: call.clone() }, ..self.clone() })
    }
}
