//! Renders the value of a field on one line, as people read it.

use beads_core::{Field, Timestamp};
use serde_json::{Map, Value};

use super::style::Style;
use crate::escape::escape;

/// Returns the value of a field, without JSON syntax.
pub fn value(field: Field, value: &Value, style: Style) -> String {
    match (field, value) {
        (_, Value::Null) => "(none)".to_owned(),
        (Field::DueAt | Field::DeferUntil | Field::AssigneeExpires, Value::Number(ms)) => {
            let time = ms.as_u64().and_then(|ms| Timestamp::from_ms(ms).ok());
            time.map_or_else(|| ms.to_string(), |time| style.moment(time))
        }
        (Field::EstimatedMinutes, Value::Number(minutes)) => format!("{minutes} min"),
        (Field::Status, Value::Object(group)) => status(group),
        (Field::Type, Value::Object(group)) => text(group, "type_word").unwrap_or_default(),
        _ => plain(value),
    }
}

/// Returns a status with its reason, such as `closed (fixed in 1.2, on main)`.
fn status(group: &Map<String, Value>) -> String {
    let status = text(group, "status_word").or_else(|| text(group, "status")).unwrap_or_default();
    let branch = text(group, "closed_on_branch").map(|branch| format!("on {branch}"));
    let details: Vec<_> = text(group, "closed_reason").into_iter().chain(branch).collect();
    if details.is_empty() { status } else { format!("{status} ({})", details.join(", ")) }
}

fn text(group: &Map<String, Value>, key: &str) -> Option<String> {
    group.get(key)?.as_str().map(|text| escape(text).into_owned())
}

/// Returns a value of any type: strings unquoted, lists with commas, and objects as `key=value`.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "(none)".to_owned(),
        Value::String(text) => escape(text).into_owned(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{}={}", escape(key), plain(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::Output;

    #[test]
    fn no_value_looks_like_json() {
        let output = Output::default();
        let shown = |field: Field, json: Value| value(field, &json, Style::new(&output));
        assert_eq!(shown(Field::Labels, json!(["a", "b"])), "a, b");
        assert_eq!(shown(Field::DueAt, json!(1_702_234_567_890_u64)), "2023-12-10T18:56:07.890Z");
        assert_eq!(shown(Field::EstimatedMinutes, json!(90)), "90 min");
        assert_eq!(shown(Field::Metadata, json!({"a": 1, "b": {"c": [true]}})), "a=1, b=c=true");
        assert_eq!(shown(Field::Status, json!("open")), "open");
        let closed = json!({"status": "closed", "closed_reason": "done", "closed_on_branch": "main"});
        assert_eq!(shown(Field::Status, closed), "closed (done, on main)");
        assert_eq!(shown(Field::Status, json!({"status": "open", "status_word": "qa"})), "qa");
        assert_eq!(shown(Field::Type, json!({"type": "task", "type_word": "rfc"})), "rfc");
        assert_eq!(shown(Field::Priority, json!(0)), "0");
    }
}
