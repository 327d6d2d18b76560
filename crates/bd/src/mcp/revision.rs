//! Revisions: a number for each bead that grows with every write to the bead, its notes or its dependencies.
//! The store derives it from the stamps of these writes. A merge may bring in an older write, so a session
//! remembers which content it showed for a revision, and the store compares that content atomically with the
//! write.

use std::collections::BTreeMap;

use beads_engine::failure::{Code, Failure};
use beads_engine::request::Query;
use serde_json::{Map, Value, json};

use super::portal::Caller;

/// Revisions by id.
pub type Revisions = BTreeMap<String, u64>;

/// Queries the revisions of beads.
pub fn of_all(ids: Vec<String>, caller: Caller<'_>) -> Revisions {
    if ids.is_empty() {
        return Revisions::new();
    }
    let answer = caller.session.query(caller.actor, Query::Revisions { ids }).unwrap_or_default();
    serde_json::from_value(answer).unwrap_or_default()
}

/// Returns the hash that guards a write to a bead that was shown.
pub fn shown_hash(bead: &Map<String, Value>) -> &str {
    bead.get("if_hash").or_else(|| bead.get("content_hash")).and_then(Value::as_str).unwrap_or_default()
}

/// Checks the expected revision. Returns the content hash that the write must expect.
pub fn guard(
    arguments: &mut Map<String, Value>,
    id: &str,
    caller: Caller<'_>,
) -> Result<Option<String>, Failure> {
    let requested = match (arguments.remove("expected_revision"), arguments.remove("expected_version")) {
        (Some(one), Some(other)) if one != other => {
            return Err(Failure::usage("expected_revision and expected_version differ"));
        }
        (one, other) => one.or(other),
    };
    let Some(requested) = requested else { return Ok(None) };
    let expected =
        requested.as_u64().ok_or_else(|| Failure::invalid("expected_revision must be an integer"))?;
    let shown = caller.session.query(caller.actor, Query::Show { ids: vec![id.to_owned()] })?;
    let bead = shown[0].as_object().cloned().unwrap_or_default();
    let revisions = of_all(vec![id.to_owned()], caller);
    let current = revisions.get(id).copied().unwrap_or_default();
    let hash = shown_hash(&bead);
    let known = caller.session.remembered(id, expected);
    if current != expected || known.as_ref().is_some_and(|known| known != hash) {
        let message = format!("{id} is at revision {current}, not {expected}; nothing was changed");
        return Err(
            Failure::new(Code::RevisionMismatch, message).with(json!({"id": id, "revision": current}))
        );
    }
    Ok(Some(hash.to_owned()))
}
