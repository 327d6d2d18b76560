//! Adds MCP fields to beads: a revision, an id qualified with the workspace, the second spelling of status
//! and priority, and the artifacts in their notes.

use serde_json::{Map, Value, json};

use super::artifact::Artifact;
use super::portal::Caller;
use super::revision::Revisions;
use super::session::Session;
use super::{enums, revision};

/// Turns a result into an object. A list goes under `items`, without the items before `offset`.
pub fn result(value: Value, caller: Caller<'_>, offset: usize, limit: Option<usize>) -> Value {
    let mut value = match value {
        Value::Array(items) => {
            let full = limit.is_some_and(|limit| items.len() >= limit.saturating_add(offset) && limit > 0);
            let items: Vec<Value> = items.into_iter().skip(offset).collect();
            let mut page = json!({"count": items.len(), "items": items});
            if full {
                page["next_offset"] = json!(
                    offset
                        + page["count"]
                            .as_u64()
                            .and_then(|count| usize::try_from(count).ok())
                            .unwrap_or_default()
                );
            }
            page
        }
        other => other,
    };
    let mut ids = Vec::new();
    collect_ids(&value, &mut ids);
    let revisions = revision::of_all(ids, caller);
    decorate(&mut value, caller.session, &revisions);
    value
}

fn is_bead(map: &Map<String, Value>) -> bool {
    map.contains_key("content_hash") && map.contains_key("updated_at")
}

/// Collects the ids of all beads in an answer.
fn collect_ids(value: &Value, ids: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_ids(item, ids)),
        Value::Object(map) => {
            map.values().for_each(|value| collect_ids(value, ids));
            if is_bead(map) {
                ids.extend(map.get("id").and_then(Value::as_str).map(str::to_owned));
            }
        }
        _ => {}
    }
}

fn decorate(value: &mut Value, session: &Session, revisions: &Revisions) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| decorate(item, session, revisions)),
        Value::Object(map) => {
            map.values_mut().for_each(|value| decorate(value, session, revisions));
            if is_bead(map) {
                decorate_bead(map, session, revisions);
            }
            if let Some(artifact) = map.get("content").and_then(Value::as_str).and_then(Artifact::from_note) {
                map.insert("artifact".into(), artifact);
            }
        }
        _ => {}
    }
}

fn decorate_bead(map: &mut Map<String, Value>, session: &Session, revisions: &Revisions) {
    let id = map.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let status = enums::status_word(map.get("status").and_then(Value::as_str).unwrap_or_default());
    let priority = enums::priority_word(map.get("priority").and_then(Value::as_u64).unwrap_or_default());
    let revision = revisions.get(&id).copied().unwrap_or_default();
    session.remember(&id, revision, revision::shown_hash(map));
    map.insert("qualified_id".into(), session.workspace.qualified(&id).into());
    map.insert("revision".into(), revision.into());
    map.insert("task_status".into(), status.into());
    map.insert("task_priority".into(), priority.into());
}
