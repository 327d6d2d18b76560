//! What this door adds to beads: a revision, a name with the workspace in it, the second spelling of status and priority, and the
//! evidence in their notes.

use serde_json::{Map, Value, json};

use super::artifact::Artifact;
use super::portal::Caller;
use super::revision::Revisions;
use super::session::Session;
use super::{enums, revision};

/// A result as an object: a list goes under `items`, without what comes before `offset`.
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
    collect(&value, &mut ids);
    let revisions = revision::of_all(ids, caller);
    visit(&mut value, caller.session, &revisions);
    value
}

fn is_bead(map: &Map<String, Value>) -> bool {
    map.contains_key("content_hash") && map.contains_key("updated_at")
}

/// Collects the ids of all beads in an answer.
fn collect(value: &Value, ids: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, ids)),
        Value::Object(map) => {
            map.values().for_each(|value| collect(value, ids));
            if is_bead(map) {
                ids.extend(map.get("id").and_then(Value::as_str).map(str::to_owned));
            }
        }
        _ => {}
    }
}

fn visit(value: &mut Value, session: &Session, revisions: &Revisions) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| visit(item, session, revisions)),
        Value::Object(map) => {
            map.values_mut().for_each(|value| visit(value, session, revisions));
            if is_bead(map) {
                bead(map, session, revisions);
            }
            if let Some(artifact) = map.get("content").and_then(Value::as_str).and_then(Artifact::of) {
                map.insert("artifact".into(), artifact);
            }
        }
        _ => {}
    }
}

fn bead(map: &mut Map<String, Value>, session: &Session, revisions: &Revisions) {
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
