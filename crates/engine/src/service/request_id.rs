//! Requests that may come again under the same id, and what tells one from another.

use std::time::Duration;

use beads_core::canonical::hex;
use beads_store::{Asked, Caller};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Service, millis};
use crate::failure::Failure;
use crate::request::{Call, Request};

/// Receipts of requests without an id of their own only have to outlive a restart of the daemon: a client asks again
/// for fifteen seconds.
const RETRY_WINDOW: Duration = Duration::from_secs(2 * 60);

/// An id that its caller chose is good for a day, and a little more for clocks that differ.
const REQUEST_WINDOW: Duration = Duration::from_secs(25 * 60 * 60);

/// Ids are names, and all of them are kept in memory.
const MAX_REQUEST_ID_BYTES: usize = 200;

impl Service {
    /// Takes note of what is asked under the request's id.
    pub(super) fn identify(&mut self, request: &Request, call: &Call) -> Result<(), Failure> {
        if let Some(id) = &request.request_id {
            check_request_id(id)?;
            self.digest = digest(request, call);
        }
        Ok(())
    }

    pub(super) fn caller(&self, request: &Request, index: usize) -> Caller {
        let asked = request.request_id.as_ref().map(|id| {
            let window = if id.starts_with('~') { RETRY_WINDOW } else { REQUEST_WINDOW };
            Asked { id: format!("{id}/{index}"), digest: self.digest.clone(), keep_ms: millis(window) }
        });
        Caller {
            actor: request.actor.clone(),
            branch: request.branch.clone(),
            lease_ms: millis(self.config.duration("claim.lease")),
            request: asked,
        }
    }

    /// The first answer to a request that left nothing in the state from which it could be told again.
    pub(super) fn told<T: DeserializeOwned>(&self, caller: &Caller) -> Result<Option<T>, Failure> {
        let told = self.replica.told(caller)?;
        told.map(|told| serde_json::from_value(told).map_err(Failure::internal)).transpose()
    }
}

fn check_request_id(id: &str) -> Result<(), Failure> {
    if id.trim_start_matches('~').is_empty() || id.len() > MAX_REQUEST_ID_BYTES {
        return Err(Failure::invalid(format!("a request id has 1 to {MAX_REQUEST_ID_BYTES} bytes")));
    }
    Ok(())
}

/// Tells one request from another under the same id. What only says how to answer does not count, nor at which time exactly
/// something is due: in two days is another time whenever it is said. An id that was drawn at random needs none.
fn digest(request: &Request, call: &Call) -> String {
    if request.request_id.as_ref().is_none_or(|id| id.starts_with('~')) {
        return String::new();
    }
    let said = match call {
        Call::Import { source, dry_run, .. } => {
            serde_json::to_value((&request.actor, source.what(), dry_run))
        }
        call => serde_json::to_value((&request.actor, call)),
    };
    let mut said = said.unwrap_or_default();
    forget_times(&mut said);
    hex(&Sha256::digest(said.to_string()))[..16].to_owned()
}

/// That there is a time counts, not which.
fn forget_times(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(forget_times),
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "due_at" | "defer_until" => *value = Value::Bool(!value.is_null()),
                    // Whatever names are in there, they are the user's.
                    "metadata" => {}
                    _ => forget_times(value),
                }
            }
        }
        _ => {}
    }
}
