//! `beads_patch`: changes single fields in the given order, all or none.

use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};
use serde_json::{Map, Value, json};

use super::portal::Caller;
use super::{enums, full, revision};
use crate::tool::check::UNKNOWN;
use crate::tool::read;

/// Text fields, which can be appended to.
const TEXTS: [&str; 3] = ["description", "design", "acceptance_criteria"];

/// Fields that null clears.
const NULLABLE: [&str; 4] = ["assignee", "estimated_minutes", "due_at", "defer_until"];

pub fn schema() -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "ops": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"op": {"enum": ["set", "unset", "append", "remove"]}, "field": {"type": "string"}, "value": {}},
                    "required": ["op", "field"],
                },
            },
        },
        "required": ["ops"],
    });
    for (name, about) in full::common_fields(true, true) {
        schema["properties"][name] = about;
    }
    schema
}

/// Combines all operations into one update, guarded by the content that they were computed from.
pub fn apply(
    mut arguments: Map<String, Value>,
    id: &str,
    guard: Option<String>,
    caller: Caller<'_>,
) -> Result<Value, Failure> {
    let ops = arguments.remove("ops").and_then(|ops| ops.as_array().cloned());
    let ops = ops.filter(|ops| !ops.is_empty()).ok_or_else(|| {
        Failure::invalid("\"ops\" must be a list of one or more operations").with(json!({"field": "ops"}))
    })?;
    if let Some(other) = arguments.keys().next() {
        return Err(Failure::invalid(format!("unsupported field {other:?}; leave it out"))
            .with(json!({"field": other, UNKNOWN: true})));
    }
    let shown = caller.session.query(caller.actor, Query::Show { ids: vec![id.to_owned()] })?;
    let bead = &shown[0];
    let hash = guard.or_else(|| Some(revision::shown_hash(bead.as_object()?).to_owned()));
    let mut update = Map::from_iter([("op".to_owned(), json!("update")), ("id".to_owned(), json!(id))]);
    update.insert("expected_content_hash".into(), json!(hash));
    for op in &ops {
        add_operation(&mut update, op, bead)?;
    }
    let op = read(Value::Object(update))?;
    caller.session.ask(caller.actor, Call::one(op))
}

fn add_operation(update: &mut Map<String, Value>, op: &Value, bead: &Value) -> Result<(), Failure> {
    let known = op
        .as_object()
        .is_some_and(|op| op.keys().all(|key| matches!(key.as_str(), "op" | "field" | "value")));
    if !known {
        return Err(Failure::invalid("an operation must have op, field and value"));
    }
    let field = op["field"].as_str().unwrap_or_default();
    let value = &op["value"];
    let bad = || Failure::invalid(format!("cannot {} {field:?}", op["op"].as_str().unwrap_or("do that to")));
    match (op["op"].as_str().unwrap_or_default(), field) {
        ("set", "labels") => put(update, "set_labels", value.clone()),
        ("unset", "labels") => put(update, "set_labels", json!([])),
        ("append", "labels") => add(update, "add_labels", value),
        ("remove", "labels") => add(update, "remove_labels", value),
        ("append" | "set", "notes") => put(update, "notes", value.clone()),
        ("set", "priority") => put(update, field, json!(enums::priority(value)?)),
        ("set", "status") => put(update, field, json!(enums::status(value.as_str().ok_or_else(bad)?)?)),
        ("set", "title" | "type" | "external_ref" | "source_repo" | "metadata") => {
            put(update, field, value.clone());
        }
        ("set", _) if TEXTS.contains(&field) || NULLABLE.contains(&field) => {
            put(update, field, value.clone());
        }
        ("unset", "external_ref" | "source_repo") => put(update, field, json!("")),
        ("unset", "metadata") => put(update, field, json!({})),
        ("unset", _) if TEXTS.contains(&field) => put(update, field, json!("")),
        ("unset", _) if NULLABLE.contains(&field) => put(update, field, Value::Null),
        ("append", _) if TEXTS.contains(&field) => {
            let more = value.as_str().ok_or_else(bad)?;
            let before = update
                .get(field)
                .and_then(Value::as_str)
                .or_else(|| bead[field].as_str())
                .unwrap_or_default();
            let text = if before.is_empty() { more.to_owned() } else { format!("{before}\n\n{more}") };
            put(update, field, text.into());
        }
        ("remove", _) if TEXTS.contains(&field) => {
            let less = value.as_str().filter(|less| !less.is_empty()).ok_or_else(bad)?;
            let before = update
                .get(field)
                .and_then(Value::as_str)
                .or_else(|| bead[field].as_str())
                .unwrap_or_default();
            put(update, field, before.replace(less, "").into());
        }
        _ => return Err(bad()),
    }
    Ok(())
}

fn put(update: &mut Map<String, Value>, field: &str, value: Value) {
    update.insert(field.to_owned(), value);
}

/// Adds one label or several.
fn add(update: &mut Map<String, Value>, field: &str, value: &Value) {
    let more = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    match update.get_mut(field).and_then(Value::as_array_mut) {
        Some(list) => list.extend(more),
        None => put(update, field, more.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use beads_engine::failure::Code;

    fn patched(ops: &[Value]) -> Result<Value, Failure> {
        let bead = json!({"description": "One", "labels": ["a"]});
        let mut update = Map::new();
        ops.iter().try_for_each(|op| add_operation(&mut update, op, &bead))?;
        Ok(Value::Object(update))
    }

    #[test]
    fn operations_become_one_update() {
        let ops = [
            json!({"op": "append", "field": "description", "value": "Two"}),
            json!({"op": "append", "field": "description", "value": "Three"}),
            json!({"op": "append", "field": "labels", "value": "b"}),
            json!({"op": "remove", "field": "labels", "value": ["a"]}),
            json!({"op": "unset", "field": "due_at"}),
            json!({"op": "set", "field": "priority", "value": "HIGH"}),
            json!({"op": "set", "field": "status", "value": "ACTIVE"}),
        ];
        let wanted = json!({
            "description": "One\n\nTwo\n\nThree", "add_labels": ["b"], "remove_labels": ["a"], "due_at": null, "priority": 1,
            "status": "in_progress",
        });
        assert_eq!(patched(&ops).unwrap(), wanted);
    }

    #[test]
    fn invalid_operations_are_refused() {
        for op in [
            json!({"op": "set", "field": "id", "value": "x"}),
            json!({"op": "unset", "field": "title"}),
            json!({"op": "append", "field": "priority", "value": 1}),
            json!({"op": "double", "field": "title"}),
            json!({"op": "set", "field": "title", "value": "x", "why": "y"}),
            json!("set"),
        ] {
            assert_eq!(patched(std::slice::from_ref(&op)).unwrap_err().code, Code::InvalidValue, "{op}");
        }
    }
}
