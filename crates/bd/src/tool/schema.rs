//! Generates draft-07 schemas from types.

use beads_core::schema::{CLEARABLE, UNIX_MS, or_null};
use beads_engine::render::links::remove_links;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{Definition, field};

/// Returns the schema of a tool's own input.
pub fn input<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = object::<T>(SchemaSettings::draft07().for_deserialize());
    schema.remove("title");
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    adapt(&mut schema);
    schema
}

/// Returns the schema of a tool's own input with the tool's description.
pub fn own<T: Definition>() -> Map<String, Value> {
    let mut schema = input::<T>();
    if let Some(about) = T::ABOUT {
        schema.insert("description".to_owned(), about.into());
    }
    schema
}

/// Adapts the fields of an operation to this interface.
fn adapt(schema: &mut Map<String, Value>) {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        let Value::Object(property) = property else { continue };
        set_default(property, required.iter().any(|required| required == name));
        write_time(property);
        refuse_null(property);
        // The width of an integer is useless beside its bounds.
        property.remove("format");
        if let Some(Value::Object(items)) = property.get_mut("items") {
            items.remove("description");
        }
        adapt(property);
    }
}

/// Sets the default. A field that is absent by default has no default value. Any other optional field is
/// empty by default, which the schemas of operations leave out.
fn set_default(property: &mut Map<String, Value>, required: bool) {
    match property.get("default") {
        Some(Value::Null) => drop(property.remove("default")),
        None if !required => {
            let empty = match property.get("type").and_then(Value::as_str) {
                Some("string") => json!(""),
                Some("boolean") => json!(false),
                Some("array") => json!([]),
                Some("object") => json!({}),
                _ => return,
            };
            property.insert("default".to_owned(), empty);
        }
        _ => {}
    }
}

/// Writes times as text, as all interfaces do, instead of milliseconds.
fn write_time(property: &mut Map<String, Value>) {
    if property.get("format").and_then(Value::as_str) != Some(UNIX_MS) {
        return;
    }
    let clears = property.contains_key(CLEARABLE);
    let mut time = if clears { or_null(field::time()) } else { field::time() };
    if clears {
        time.insert(CLEARABLE.to_owned(), true.into());
    }
    if let Some(about) = property.get("description").and_then(Value::as_str) {
        let (what, rest) = about.split_at(about.find(';').unwrap_or(about.len()));
        time.insert(
            "description".to_owned(),
            format!("{what}, RFC 3339, a local date-time or a date{rest}").into(),
        );
    }
    if let Value::Object(time) = time.to_value() {
        *property = time;
    }
}

/// Removes null from the types of a field unless null clears it.
fn refuse_null(property: &mut Map<String, Value>) {
    if property.remove(CLEARABLE).is_some() {
        return;
    }
    for keyword in ["type", "enum"] {
        let Some(Value::Array(all)) = property.get_mut(keyword) else { continue };
        all.retain(|one| !one.is_null() && one != "null");
        if keyword == "type" && all.len() == 1 {
            let only = all.remove(0);
            property.insert(keyword.to_owned(), only);
        }
    }
}

/// Returns the schema of `result`.
pub fn output<T: JsonSchema>() -> Value {
    let mut schema = Value::Object(object::<T>(SchemaSettings::draft07().for_serialize()));
    remove_links(&mut schema);
    schema
}

fn object<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(schema) => schema,
        // `true` or `false`, for a type that accepts everything or nothing.
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    /// The fields that programs rely on, each as `tool field [required] schema`. Fields may be added but not
    /// changed.
    const PUBLISHED: &str = include_str!("published_fields.txt");

    #[test]
    fn schemas_have_no_rustdoc_links() {
        for tool in crate::tool::table() {
            for schema in [tool.input_schema().clone(), tool.output_schema()] {
                assert!(!schema.to_string().contains("[`"), "{}: {schema}", tool.name);
            }
        }
    }

    #[test]
    fn published_fields_keep_their_type_and_meaning() {
        let mut fields = Vec::new();
        for tool in crate::tool::table() {
            let schema = tool.input_schema();
            let properties = schema["properties"].as_object().into_iter().flatten();
            for (name, property) in properties {
                let is_required = schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
                let required = if is_required { " required" } else { "" };
                fields.push(format!("{} {name}{required} {}", tool.name, undescribed(property.clone())));
            }
        }
        for published in PUBLISHED.lines() {
            assert!(
                fields.iter().any(|field| field == published),
                "changed since it was published: {published}"
            );
        }
        let is_published = |field: &str| PUBLISHED.lines().any(|published| published == field);
        let is_new_tool = |field: &str| {
            let tool = field.split(' ').next().unwrap_or_default();
            !PUBLISHED.lines().any(|published| published.split(' ').next() == Some(tool))
        };
        for field in fields.iter().filter(|field| field.split(' ').nth(2) == Some("required")) {
            assert!(
                is_published(field) || is_new_tool(field),
                "a new required field breaks existing programs: {field}"
            );
        }
    }

    /// Removes the descriptions from a schema. A property may itself be named `description`.
    fn undescribed(mut schema: Value) -> Value {
        match &mut schema {
            Value::Object(map) => {
                if map.get("description").is_some_and(Value::is_string) {
                    map.remove("description");
                }
                map.values_mut().for_each(|value| *value = undescribed(value.take()));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| *item = undescribed(item.take())),
            _ => {}
        }
        schema
    }
}
