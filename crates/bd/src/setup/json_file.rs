//! Edits entries of a JSON file that belongs to another program. Other entries keep their order and their
//! exact bytes.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

type Answer = Result<String, String>;

/// An object that keeps the order of its fields and the exact text of their values.
#[derive(Debug, Default)]
struct Object(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Object;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Object, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Object(fields))
            }
        }
        from.deserialize_map(Fields)
    }
}

impl Object {
    fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_str(text).map_err(|error| format!("it is not a JSON object ({error})"))
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.get())
    }

    /// Sets a field, or removes it.
    fn set(&mut self, key: &str, value: Option<String>) -> Result<(), String> {
        let value = value.map(RawValue::from_string).transpose().map_err(|error| error.to_string())?;
        let at = self.0.iter().position(|(name, _)| name == key);
        match (at, value) {
            (Some(at), Some(value)) => self.0[at].1 = value,
            (Some(at), None) => drop(self.0.remove(at)),
            (None, Some(value)) => self.0.push((key.to_owned(), value)),
            (None, None) => {}
        }
        Ok(())
    }

    fn text(&self, depth: usize) -> String {
        if self.0.is_empty() {
            return "{}".to_owned();
        }
        let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
        let field = |(name, value): &(String, Box<RawValue>)| {
            format!("{inner}{}: {}", Value::from(name.as_str()), value.get())
        };
        let fields: Vec<String> = self.0.iter().map(field).collect();
        format!("{{\n{}\n{outer}}}", fields.join(",\n"))
    }
}

/// Changes the value at a path. Creates missing objects on the way, and removes objects that become empty.
fn change_at(
    text: &str,
    path: &[&str],
    depth: usize,
    change: &dyn Fn(&str) -> Result<Option<String>, String>,
) -> Result<Option<String>, String> {
    let Some((key, rest)) = path.split_first() else { return change(text) };
    let mut object = Object::read(text)?;
    let before = object.get(key).unwrap_or_default().to_owned();
    let after = change_at(&before, rest, depth + 1, change)?;
    if after.as_deref().unwrap_or_default() == before {
        return Ok((!text.is_empty()).then(|| text.to_owned()));
    }
    object.set(key, after)?;
    Ok((depth == 0 || !object.0.is_empty()).then(|| object.text(depth)))
}

fn change_file(text: &str, path: &[&str], change: &dyn Fn(&str) -> Result<Option<String>, String>) -> Answer {
    let changed = change_at(text, path, 0, change)?.unwrap_or_default();
    Ok(if changed == text { changed } else { format!("{changed}\n") })
}

fn is_equal(text: &str, value: &Value) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|current| current == *value)
}

pub fn with_entry(text: &str, path: &[&str], value: &Value) -> Answer {
    change_file(text, path, &|current| {
        Ok(Some(if is_equal(current, value) { current.to_owned() } else { value.to_string() }))
    })
}

pub fn without_entry(text: &str, path: &[&str]) -> Answer {
    change_file(text, path, &|_| Ok(None))
}

/// Parses a list and keeps the exact text of its elements.
fn parse_list(text: &str) -> Result<Vec<Box<RawValue>>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(text).map_err(|error| format!("it has no list where one is expected ({error})"))
}

fn format_list(items: &[&str]) -> String {
    format!("[{}]", items.join(", "))
}

/// Sets a key unless the file has it with any value.
pub fn with_default(text: &str, path: &[&str], value: &Value) -> Answer {
    change_file(text, path, &|current| {
        Ok(Some(if current.is_empty() { value.to_string() } else { current.to_owned() }))
    })
}

/// Removes a key if nothing else is left in the file.
pub fn without_lone_entry(text: &str, path: &[&str], value: &Value) -> Answer {
    let mut alone = value.clone();
    for key in path.iter().rev() {
        alone = Value::Object([((*key).to_owned(), alone)].into_iter().collect());
    }
    if is_equal(text, &alone) { without_entry(text, path) } else { Ok(text.to_owned()) }
}

/// Appends our element to a list and removes other elements that `is_ours` recognises.
pub fn with_element(text: &str, path: &[&str], value: &Value, is_ours: fn(&Value) -> bool) -> Answer {
    change_file(text, path, &|current| {
        let items = parse_list(current)?;
        let ours: Vec<&RawValue> = recognised(&items, is_ours);
        if let [only] = ours.as_slice()
            && is_equal(only.get(), value)
        {
            return Ok(Some(current.to_owned()));
        }
        let added = value.to_string();
        let others = items.iter().filter(|item| !recognises(item, is_ours)).map(|item| item.get());
        Ok(Some(format_list(&others.chain([added.as_str()]).collect::<Vec<_>>())))
    })
}

/// Removes the elements of a list that `is_ours` recognises.
pub fn without_elements(text: &str, path: &[&str], is_ours: fn(&Value) -> bool) -> Answer {
    change_file(text, path, &|current| {
        let items = parse_list(current)?;
        let left: Vec<&str> =
            items.iter().filter(|item| !recognises(item, is_ours)).map(|item| item.get()).collect();
        if left.len() == items.len() {
            return Ok((!current.is_empty()).then(|| current.to_owned()));
        }
        Ok((!left.is_empty()).then(|| format_list(&left)))
    })
}

fn recognises(item: &RawValue, is_ours: fn(&Value) -> bool) -> bool {
    serde_json::from_str(item.get()).is_ok_and(|value| is_ours(&value))
}

fn recognised(items: &[Box<RawValue>], is_ours: fn(&Value) -> bool) -> Vec<&RawValue> {
    items.iter().map(AsRef::as_ref).filter(|item| recognises(item, is_ours)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_entries_keep_their_order_and_bytes() {
        let text =
            "{\n  \"z\": [1,  2],\n  \"mcpServers\": {\"other\": {\"b\": 1.0, \"a\":2}},\n  \"a\": null\n}\n";
        let ours = json!({"command": "bd"});
        let with = with_entry(text, &["mcpServers", "beads"], &ours).unwrap();
        assert!(with.contains("\"z\": [1,  2]") && with.contains("{\"b\": 1.0, \"a\":2}"), "{with}");
        assert!(with.find("\"z\"") < with.find("mcpServers"), "{with}");
        assert_eq!(with_entry(&with, &["mcpServers", "beads"], &ours).unwrap(), with);
        let read: Value = serde_json::from_str(&with).unwrap();
        assert_eq!(read["mcpServers"]["beads"], ours);
        let without = without_entry(&with, &["mcpServers", "beads"]).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&without).unwrap(),
            serde_json::from_str::<Value>(text).unwrap()
        );
    }

    fn is_ours(value: &Value) -> bool {
        value["x"].is_number()
    }

    #[test]
    fn elements_are_added_and_removed_and_nothing_empty_is_left() {
        let (path, ours): (&[&str], _) = (&["hooks", "SessionStart"], json!({"x": 1}));
        let with = |text: &str| with_element(text, path, &ours, is_ours).unwrap();
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let fresh = with("");
        assert_eq!(read(&fresh), json!({"hooks": {"SessionStart": [{"x": 1}]}}));
        assert_eq!(with(&fresh), fresh);
        assert_eq!(without_elements(&fresh, path, is_ours).unwrap().trim(), "{}");
        // An element of an earlier version is replaced; other elements stay.
        let both = with("{\"hooks\":{\"SessionStart\":[{\"x\":7},{\"y\":2}]}}");
        assert_eq!(read(&both), json!({"hooks": {"SessionStart": [{"y": 2}, {"x": 1}]}}));
        let left = without_elements(&both, path, is_ours).unwrap();
        assert_eq!(read(&left), json!({"hooks": {"SessionStart": [{"y": 2}]}}));
    }

    #[test]
    fn a_default_is_removed_if_nothing_else_is_left() {
        let path: &[&str] = &["version"];
        let with = with_default("", path, &json!(1)).unwrap();
        assert_eq!(without_lone_entry(&with, path, &json!(1)).unwrap().trim(), "{}");
        for text in ["{\"version\": 2}", "{\"version\": 1, \"a\": 3}"] {
            assert_eq!(with_default(text, path, &json!(1)).unwrap(), text);
            assert_eq!(without_lone_entry(text, path, &json!(1)).unwrap(), text);
        }
    }

    #[test]
    fn a_file_that_is_not_plain_json_is_rejected() {
        assert!(with_entry("{ // comment\n}", &["a"], &json!(1)).is_err());
        assert!(with_element("{\"a\": 3}", &["a"], &json!(1), is_ours).is_err());
    }
}
