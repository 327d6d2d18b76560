//! What this door adds to beads: a revision, a name with the workspace in it, the second spelling of status and priority, and the
//! evidence in their notes.

use serde_json::{Map, Value, json};

use super::artifact::Artifact;
use super::session::Session;
use super::{enums, revision};

/// A result as an object: a list goes under `items`, without what comes before `offset`.
pub fn result(value: Value, session: &Session, offset: usize, limit: Option<usize>) -> Value {
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
    visit(&mut value, session);
    value
}

fn visit(value: &mut Value, session: &Session) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| visit(item, session)),
        Value::Object(map) => {
            map.values_mut().for_each(|value| visit(value, session));
            if map.contains_key("content_hash") && map.contains_key("updated_at") {
                bead(map, session);
            }
            if let Some(artifact) = map.get("content").and_then(Value::as_str).and_then(Artifact::of) {
                map.insert("artifact".into(), artifact);
            }
        }
        _ => {}
    }
}

fn bead(map: &mut Map<String, Value>, session: &Session) {
    let id = map.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let status = enums::status_word(map.get("status").and_then(Value::as_str).unwrap_or_default());
    let priority = enums::priority_word(map.get("priority").and_then(Value::as_u64).unwrap_or_default());
    let revision = revision::of(map);
    let hash = map.get("content_hash").and_then(Value::as_str).unwrap_or_default();
    session.remember(&id, revision, hash);
    map.insert("qualified_id".into(), session.workspace.qualified(&id).into());
    map.insert("revision".into(), revision.into());
    map.insert("task_status".into(), status.into());
    map.insert("task_priority".into(), priority.into());
}
