//! Recognizes retries: requests with the same id and the same content.

use std::time::Duration;

use beads_core::canonical::hex;
use beads_store::{Caller, RequestKey};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Service, millis};
use crate::failure::Failure;
use crate::request::{Call, Request};

/// How long to keep the receipts of generated request ids. They only have to survive a restart of the daemon:
/// a client retries for fifteen seconds.
const RETRY_WINDOW: Duration = Duration::from_secs(2 * 60);

/// How long to keep the receipts of ids that callers chose: a day, plus a margin for clock differences.
const REQUEST_WINDOW: Duration = Duration::from_secs(25 * 60 * 60);

/// The maximum length of a request id. All ids are kept in memory.
const MAX_REQUEST_ID_BYTES: usize = 200;

impl Service {
    /// Computes the digest of a request that has an id.
    pub(super) fn identify(&mut self, request: &Request, call: &Call) -> Result<(), Failure> {
        if let Some(id) = &request.request_id {
            check_request_id(id)?;
            self.digest = digest(request, call);
        }
        Ok(())
    }

    /// Returns the caller of the operation with an index, and the id of its receipt.
    pub(super) fn caller(&self, request: &Request, index: usize) -> Caller {
        let asked = request.request_id.as_ref().map(|id| {
            let window = if id.starts_with('~') { RETRY_WINDOW } else { REQUEST_WINDOW };
            RequestKey { id: format!("{id}/{index}"), digest: self.digest.clone(), keep_ms: millis(window) }
        });
        Caller {
            actor: request.actor.clone(),
            branch: request.branch.clone(),
            lease_ms: millis(self.config.duration("claim.lease")),
            request: asked,
        }
    }

    /// Returns the first answer to a request, for requests whose answer cannot be derived from the state
    /// again.
    pub(super) fn cached_answer<T: DeserializeOwned>(&self, caller: &Caller) -> Result<Option<T>, Failure> {
        let cached = self.replica.cached_answer(caller)?;
        cached.map(|answer| serde_json::from_value(answer).map_err(Failure::internal)).transpose()
    }
}

fn check_request_id(id: &str) -> Result<(), Failure> {
    if id.trim_start_matches('~').is_empty() || id.len() > MAX_REQUEST_ID_BYTES {
        return Err(Failure::invalid(format!("a request id must have 1 to {MAX_REQUEST_ID_BYTES} bytes")));
    }
    Ok(())
}

/// Returns a digest that distinguishes requests with the same id. It ignores output options, and the exact
/// times of due dates, because a relative date resolves to another time in each retry. Generated ids need no
/// digest.
fn digest(request: &Request, call: &Call) -> String {
    if request.request_id.as_ref().is_none_or(|id| id.starts_with('~')) {
        return String::new();
    }
    let content = match call {
        Call::Import { source, dry_run, .. } => {
            serde_json::to_value((&request.actor, source.identity(), dry_run))
        }
        call => serde_json::to_value((&request.actor, call)),
    };
    let mut content = content.unwrap_or_default();
    forget_times(&mut content);
    hex(&Sha256::digest(content.to_string()))[..16].to_owned()
}

/// Replaces times by whether there is one.
fn forget_times(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(forget_times),
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "due_at" | "defer_until" => *value = Value::Bool(!value.is_null()),
                    // The field names in there are the user's.
                    "metadata" => {}
                    _ => forget_times(value),
                }
            }
        }
        _ => {}
    }
}
