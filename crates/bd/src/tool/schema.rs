//! Draft-07 schemas from types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use beads_engine::render::links::remove_links;

/// The schema of a tool's own input.
pub fn input<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = object::<T>(SchemaSettings::draft07().for_deserialize());
    schema.remove("title");
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    forget_null_defaults(&mut schema);
    schema
}

/// What is absent by default has no value that could be written down.
fn forget_null_defaults(schema: &mut Map<String, Value>) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        if property.get("default").is_some_and(Value::is_null) {
            property.remove("default");
        }
        forget_null_defaults(property);
    }
}

/// The schema of what stands under `result`.
pub fn output<T: JsonSchema>() -> Value {
    let mut schema = Value::Object(object::<T>(SchemaSettings::draft07().for_serialize()));
    remove_links(&mut schema);
    schema
}

fn object<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(schema) => schema,
        // `true` or `false` for a type that is everything or nothing.
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn schemas_have_no_links_of_rustdoc() {
        for tool in crate::tool::table() {
            for schema in [tool.input_schema().clone(), tool.output_schema()] {
                assert!(!schema.to_string().contains("[`"), "{}: {schema}", tool.name);
            }
        }
    }
}
