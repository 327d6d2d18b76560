//! Compact input schemas: whatever a model does not need is left out to save tokens.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Returns the doc comment of a type and its schema.
pub fn of<T: JsonSchema>() -> (String, Map<String, Value>) {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    compact(&mut schema);
    let Value::Object(mut schema) = schema else { return (String::new(), Map::new()) };
    let description = match schema.remove("description") {
        Some(Value::String(text)) => text.replace('\n', " "),
        _ => String::new(),
    };
    schema.entry("properties").or_insert_with(|| json!({}));
    (description, schema)
}

fn compact(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for noise in ["title", "format", "default", "minimum", "maximum", "additionalProperties"] {
                // A property may have this name; then its value is a schema.
                if map.get(noise).is_none_or(|value| value.get("type").is_none()) {
                    map.remove(noise);
                }
            }
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|one| one != "null");
                if let [one] = &types[..] {
                    let one = one.clone();
                    map.insert("type".into(), one);
                }
            }
            map.values_mut().for_each(compact);
        }
        Value::Array(items) => items.iter_mut().for_each(compact),
        _ => {}
    }
}
