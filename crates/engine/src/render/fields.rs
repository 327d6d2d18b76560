//! `--fields`: only the named fields of each bead.

use std::fmt::Write;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::answer::Answer;
use super::shown;
use crate::escape::escape;
use crate::field_name::FieldName;
use crate::request::Output;

/// The requested fields of one bead, in the requested order. Missing fields are null.
#[derive(Debug)]
pub struct Picked(Vec<(FieldName, Value)>);

impl Serialize for Picked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name.as_str(), value)?;
        }
        map.end()
    }
}

/// Returns the requested fields of each bead of an answer. `None` if all fields were requested or the answer
/// is not a list of beads.
pub fn pick(answer: &Answer, output: &Output) -> Option<Vec<Picked>> {
    if output.fields.is_empty() || !matches!(answer, Answer::Beads(_) | Answer::Details(_)) {
        return None;
    }
    let Ok(Value::Array(beads)) = serde_json::to_value(shown(answer, output.dialect)) else { return None };
    let pick = |bead: Value| {
        let field = |field: &FieldName| (*field, bead.get(field.as_str()).cloned().unwrap_or_default());
        Picked(output.fields.iter().map(field).collect())
    };
    Some(beads.into_iter().map(pick).collect())
}

/// Writes one line per bead, with a tab between fields.
pub fn text(beads: &[Picked]) -> String {
    let mut out = String::new();
    for Picked(fields) in beads {
        let line: Vec<String> = fields.iter().map(|(_, value)| plain(value)).collect();
        let _ = writeln!(out, "{}", line.join("\t"));
    }
    out
}

/// Returns a value as text without tabs and line breaks. Beads at the other end of a dependency are shown by
/// their ids.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => escape(text).into_owned(),
        Value::Array(items) if items.iter().all(|item| item.is_string() || item["title"].is_string()) => {
            let items = items.iter().map(|item| plain(if item.is_object() { &item["id"] } else { item }));
            items.collect::<Vec<_>>().join(",")
        }
        other => escape(&other.to_string()).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::schema::output;
    use crate::dialect::Dialect;
    use crate::field_name::NAMES;

    #[test]
    fn the_names_are_the_fields_of_all_answers_with_beads() {
        let mut found = BTreeSet::new();
        for command in ["list", "show"] {
            for dialect in [Dialect::Spec, Dialect::Compat] {
                let schema = output(command, dialect).unwrap().to_value();
                let item = match schema["items"]["$ref"].as_str() {
                    Some(link) => schema.pointer(link.trim_start_matches('#')).unwrap().clone(),
                    None => schema["items"].clone(),
                };
                let properties = item["properties"].as_object().unwrap_or_else(|| panic!("{item}"));
                found.extend(properties.keys().cloned());
            }
        }
        assert_eq!(found, NAMES.iter().map(ToString::to_string).collect());
    }
}
