//! The values of registers: as JSON for people and conflicts, and as bytes that break ties.

use serde::Serialize;

use crate::Claim;
use crate::body::Body;
use crate::canonical::to_canonical;
use crate::field::{StatusGroup, TypeGroup};

pub(super) fn json(value: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(value).expect("our types serialise to JSON")
}

/// Returns a plain status as a string, and one with a word, a reason or a branch as an object.
pub(super) fn status_json(group: &StatusGroup) -> serde_json::Value {
    let mut body = Body::default();
    body.put_status(group);
    match json(&body) {
        serde_json::Value::Object(map) if map.len() == 1 => json(&group.status),
        object => object,
    }
}

/// Returns a plain type as a string, and one with a word as an object.
pub(super) fn type_json(group: &TypeGroup) -> serde_json::Value {
    if group.word.is_none() {
        return json(&group.kind);
    }
    let mut body = Body::default();
    body.put_type(group);
    json(&body)
}

pub(super) fn type_bytes(group: &TypeGroup) -> Vec<u8> {
    let mut body = Body::default();
    body.put_type(group);
    to_canonical(&body)
}

pub(super) fn status_bytes(group: &StatusGroup) -> Vec<u8> {
    let mut body = Body::default();
    body.put_status(group);
    to_canonical(&body)
}

pub(super) fn claim_bytes(claim: &Claim) -> Vec<u8> {
    let body = Body { assignee: claim.assignee.clone(), assignee_expires: claim.expires, ..Body::default() };
    to_canonical(&body)
}
