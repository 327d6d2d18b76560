//! Revisions: a whole number for each bead that grows with every write to it. It is the time of the latest write in milliseconds, so it
//! needs no counter of its own and is never stored. Two writes may share a millisecond, and a merge may bring an older one; therefore a session
//! remembers which content it showed under a number, and the store compares that content in the same step in which it writes.

use beads_engine::failure::{Code, Failure};
use beads_engine::request::Query;
use serde_json::{Map, Value, json};

use super::portal::Caller;

/// The revision of a bead as the store shows it.
pub fn of(bead: &Map<String, Value>) -> u64 {
    let changed = bead.get("updated_at").and_then(Value::as_str).and_then(millis).unwrap_or_default();
    let notes = bead.get("notes").and_then(Value::as_array).into_iter().flatten();
    let noted = notes.filter_map(|note| note["at"][0].as_u64()).max().unwrap_or_default();
    changed.max(noted)
}

fn millis(time: &str) -> Option<u64> {
    let time: jiff::Timestamp = time.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok()
}

/// The `content_hash` that must still hold for a write that expects a revision.
pub fn guard(
    arguments: &mut Map<String, Value>,
    id: &str,
    caller: Caller<'_>,
) -> Result<Option<String>, Failure> {
    let asked = match (arguments.remove("expected_revision"), arguments.remove("expected_version")) {
        (Some(one), Some(other)) if one != other => {
            return Err(Failure::usage("expected_revision and expected_version say different things"));
        }
        (one, other) => one.or(other),
    };
    let Some(asked) = asked else { return Ok(None) };
    let expected = asked.as_u64().ok_or_else(|| Failure::invalid("expected_revision is a whole number"))?;
    let shown = caller.session.query(caller.actor, Query::Show { ids: vec![id.to_owned()] })?;
    let bead = shown[0].as_object().cloned().unwrap_or_default();
    let (current, hash) = (of(&bead), bead.get("content_hash").and_then(Value::as_str).unwrap_or_default());
    let known = caller.session.remembered(id, expected);
    if current != expected || known.as_ref().is_some_and(|known| known != hash) {
        let message = format!("{id} is at revision {current}, not {expected}; nothing was changed");
        return Err(
            Failure::new(Code::RevisionMismatch, message).with(json!({"id": id, "revision": current}))
        );
    }
    Ok(Some(hash.to_owned()))
}
