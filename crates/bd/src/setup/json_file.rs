//! Entries in somebody else's JSON file. What is not ours keeps its order and its bytes.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

type Answer = Result<String, String>;

/// An object whose fields keep their order, and their values as they were written.
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
        serde_json::from_str(text)
            .map_err(|error| format!("it is not the JSON object that was expected ({error})"))
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.get())
    }

    /// Sets a field, or takes it out.
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

/// Changes the value at a path; objects on the way are made, and taken out again when they are empty.
fn at(
    text: &str,
    path: &[&str],
    depth: usize,
    change: &dyn Fn(&str) -> Result<Option<String>, String>,
) -> Result<Option<String>, String> {
    let Some((key, rest)) = path.split_first() else { return change(text) };
    let mut object = Object::read(text)?;
    let before = object.get(key).unwrap_or_default().to_owned();
    let after = at(&before, rest, depth + 1, change)?;
    if after.as_deref().unwrap_or_default() == before {
        return Ok((!text.is_empty()).then(|| text.to_owned()));
    }
    object.set(key, after)?;
    Ok((depth == 0 || !object.0.is_empty()).then(|| object.text(depth)))
}

fn whole(text: &str, path: &[&str], change: &dyn Fn(&str) -> Result<Option<String>, String>) -> Answer {
    let changed = at(text, path, 0, change)?.unwrap_or_default();
    Ok(if changed == text { changed } else { format!("{changed}\n") })
}

fn same(text: &str, value: &Value) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|there| there == *value)
}

pub fn with_entry(text: &str, path: &[&str], value: &Value) -> Answer {
    whole(text, path, &|there| {
        Ok(Some(if same(there, value) { there.to_owned() } else { value.to_string() }))
    })
}

pub fn without_entry(text: &str, path: &[&str]) -> Answer {
    whole(text, path, &|_| Ok(None))
}

/// The elements as they were written.
fn list(text: &str) -> Result<Vec<Box<RawValue>>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(text).map_err(|error| format!("a list was expected ({error})"))
}

fn listed(items: &[&str]) -> String {
    format!("[{}]", items.join(", "))
}

/// Sets a key unless the file has it, whatever its value.
pub fn with_default(text: &str, path: &[&str], value: &Value) -> Answer {
    whole(text, path, &|there| Ok(Some(if there.is_empty() { value.to_string() } else { there.to_owned() })))
}

/// Takes a key out when it is all that is left of the file.
pub fn without_lone_entry(text: &str, path: &[&str], value: &Value) -> Answer {
    let mut alone = value.clone();
    for key in path.iter().rev() {
        alone = Value::Object([((*key).to_owned(), alone)].into_iter().collect());
    }
    if same(text, &alone) { without_entry(text, path) } else { Ok(text.to_owned()) }
}

/// Puts our element at the end of a list, in place of others that `is_ours` recognises.
pub fn with_element(text: &str, path: &[&str], value: &Value, is_ours: fn(&Value) -> bool) -> Answer {
    whole(text, path, &|there| {
        let items = list(there)?;
        let ours: Vec<&RawValue> = recognised(&items, is_ours);
        if let [only] = ours.as_slice()
            && same(only.get(), value)
        {
            return Ok(Some(there.to_owned()));
        }
        let added = value.to_string();
        let others = items.iter().filter(|item| !recognises(item, is_ours)).map(|item| item.get());
        Ok(Some(listed(&others.chain([added.as_str()]).collect::<Vec<_>>())))
    })
}

/// Takes the elements out of a list that `is_ours` recognises.
pub fn without_elements(text: &str, path: &[&str], is_ours: fn(&Value) -> bool) -> Answer {
    whole(text, path, &|there| {
        let items = list(there)?;
        let left: Vec<&str> =
            items.iter().filter(|item| !recognises(item, is_ours)).map(|item| item.get()).collect();
        if left.len() == items.len() {
            return Ok((!there.is_empty()).then(|| there.to_owned()));
        }
        Ok((!left.is_empty()).then(|| listed(&left)))
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
    fn what_is_not_ours_keeps_its_order_and_its_bytes() {
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
    fn elements_come_and_go_and_nothing_empty_is_left() {
        let (path, ours): (&[&str], _) = (&["hooks", "SessionStart"], json!({"x": 1}));
        let with = |text: &str| with_element(text, path, &ours, is_ours).unwrap();
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let fresh = with("");
        assert_eq!(read(&fresh), json!({"hooks": {"SessionStart": [{"x": 1}]}}));
        assert_eq!(with(&fresh), fresh);
        assert_eq!(without_elements(&fresh, path, is_ours).unwrap().trim(), "{}");
        // An element of an earlier version gives way; what is not ours stays.
        let both = with("{\"hooks\":{\"SessionStart\":[{\"x\":7},{\"y\":2}]}}");
        assert_eq!(read(&both), json!({"hooks": {"SessionStart": [{"y": 2}, {"x": 1}]}}));
        let left = without_elements(&both, path, is_ours).unwrap();
        assert_eq!(read(&left), json!({"hooks": {"SessionStart": [{"y": 2}]}}));
    }

    #[test]
    fn a_default_goes_when_nothing_else_is_left() {
        let path: &[&str] = &["version"];
        let with = with_default("", path, &json!(1)).unwrap();
        assert_eq!(without_lone_entry(&with, path, &json!(1)).unwrap().trim(), "{}");
        for text in ["{\"version\": 2}", "{\"version\": 1, \"a\": 3}"] {
            assert_eq!(with_default(text, path, &json!(1)).unwrap(), text);
            assert_eq!(without_lone_entry(text, path, &json!(1)).unwrap(), text);
        }
    }

    #[test]
    fn what_is_not_plain_json_is_left_alone() {
        assert!(with_entry("{ // comment\n}", &["a"], &json!(1)).is_err());
        assert!(with_element("{\"a\": 3}", &["a"], &json!(1), is_ours).is_err());
    }
}
