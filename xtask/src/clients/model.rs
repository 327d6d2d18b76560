//! What the generated files are made of.

use std::collections::{BTreeMap, BTreeSet};

use beads_core::op;
use beads_engine::failure::Code;
use beads_engine::render::schema;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::method::{METHODS, Method};
use super::schema_type::SchemaType;
use crate::arguments::Result;

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub about: String,
    pub kind: SchemaType,
    pub required: bool,
}

/// The definition of a named type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    Record(Vec<Field>),
    Alias(SchemaType),
}

/// A named type and its documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    pub about: String,
    pub shape: Shape,
}

/// An error code.
#[derive(Debug)]
pub struct ErrorCode {
    pub name: String,
    pub class: String,
    pub hint: Option<&'static str>,
}

/// Everything that is generated.
#[derive(Debug)]
pub struct Model {
    pub types: BTreeMap<String, Definition>,
    pub errors: Vec<ErrorCode>,
    pub methods: &'static [Method],
}

impl Model {
    pub fn build() -> Result<Self> {
        let mut types = BTreeMap::new();
        for (file, text) in schema::files() {
            let stem = file.trim_end_matches(".json");
            if stem != "index" && !stem.ends_with(".compat") {
                add(&mut types, stem, &serde_json::from_str(&text)?);
            }
        }
        for (name, schema) in own_types() {
            add(&mut types, name, &schema);
        }
        Ok(Self { types, errors: errors(), methods: METHODS })
    }
}

/// Adds the definitions of one schema, and the schema itself if it has a name of its own.
fn add(types: &mut BTreeMap<String, Definition>, stem: &str, schema: &Value) {
    let none = serde_json::Map::new();
    let definitions = schema["$defs"].as_object().unwrap_or(&none);
    // Two answers may use one name for different types. The later one is then named after its file, too.
    let mut own_names = BTreeMap::new();
    loop {
        let rename = |name: &str| own_names.get(name).cloned().unwrap_or_else(|| type_name(name));
        let read: Vec<_> =
            definitions.iter().map(|(name, schema)| (name, definition(schema, &rename))).collect();
        let clash =
            read.iter().find(|(name, found)| types.get(&rename(name)).is_some_and(|known| known != found));
        if let Some((name, _)) = clash
            && !own_names.contains_key(*name)
        {
            own_names.insert((*name).clone(), format!("{}{}", pascal(stem), type_name(name)));
            continue;
        }
        for (name, definition) in read {
            types.insert(rename(name), definition);
        }
        let title = schema["title"].as_str().unwrap_or_default();
        let name = type_name(title);
        if !title.contains("_of_") && !types.contains_key(&name) {
            types.insert(name, definition(schema, &rename));
        }
        return;
    }
}

fn definition(schema: &Value, rename: &dyn Fn(&str) -> String) -> Definition {
    let about = schema["description"].as_str().unwrap_or_default().to_owned();
    let Some(properties) = schema["properties"].as_object() else {
        return Definition { about, shape: Shape::Alias(SchemaType::read(schema, rename)) };
    };
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = properties.iter().map(|(name, schema)| Field {
        name: name.clone(),
        about: schema["description"].as_str().unwrap_or_default().to_owned(),
        kind: SchemaType::read(schema, rename),
        required: required.contains(name.as_str()),
    });
    Definition { about, shape: Shape::Record(fields.collect()) }
}

/// Returns the name of a type in the clients. `ClaimedOf` is generic in Rust; the clients have one dialect.
fn type_name(name: &str) -> String {
    match name {
        "Next" => "ClosedAndClaimed".into(),
        "UnchangedOf" => "Changed".into(),
        "Worker" => "WorkerRecap".into(),
        _ => name.strip_suffix("Of").unwrap_or(name).to_owned(),
    }
}

/// Returns `snake_case` or `kebab-case` as `PascalCase`.
pub fn pascal(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split(['_', '-']).filter(|word| !word.is_empty()).map(capital).collect()
}

/// Returns `snake_case` as `camelCase`.
pub fn camel(name: &str) -> String {
    let name = pascal(name);
    name[..1].to_lowercase() + &name[1..]
}

fn errors() -> Vec<ErrorCode> {
    let class = |name: &str| format!("{}Error", pascal(name.strip_suffix("_error").unwrap_or(name)));
    Code::ALL
        .iter()
        .map(|code| ErrorCode { name: code.to_string(), class: class(code.as_str()), hint: code.hint() })
        .collect()
}

/// Returns the types of arguments, which `docs/schema` does not have.
fn own_types() -> Vec<(&'static str, Value)> {
    vec![
        ("create", fields::<op::Create>("CreateFields", &["title"])),
        ("update", fields::<op::Update>("UpdateFields", &["id"])),
        ("close", fields::<op::Close>("CloseFields", &["id"])),
        ("cancel", fields::<op::Cancel>("CancelFields", &["id", "reason"])),
        ("hand-over", fields::<op::HandOver>("HandOverFields", &["id", "to"])),
        ("ask", fields::<op::Ask>("AskFields", &["id", "text"])),
        ("answer", fields::<op::AnswerQuestion>("AnswerFields", &["id", "text"])),
        ("unclaim", fields::<op::Unclaim>("UnclaimFields", &["id"])),
        ("reopen", fields::<op::Reopen>("ReopenFields", &["id"])),
        ("delete", fields::<op::Delete>("DeleteFields", &["id"])),
        ("restore", fields::<op::Restore>("RestoreFields", &["id"])),
        ("note", fields::<op::NoteAdd>("NoteFields", &["id", "content"])),
        ("filter", filter()),
        ("ready-filter", ready_filter()),
        ("events", events()),
        ("claim-over", claim_over()),
    ]
}

/// Returns the schema of an operation's optional fields; the others are parameters of the method.
fn fields<T: JsonSchema>(title: &str, parameters: &[&str]) -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    schema["title"] = title.into();
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.retain(|name, _| !parameters.contains(&name.as_str()));
    }
    schema["required"] = json!([]);
    schema
}

/// Returns the schema of a filter. A test compares it with the type that the daemon decodes.
fn filter() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let texts = |about: &str| json!({"type": "array", "items": {"type": "string"}, "description": about});
    let flag = |about: &str| json!({"type": "boolean", "description": about});
    let number = |about: &str| json!({"type": "integer", "description": about});
    let time = |about: &str| number(&format!("{about}, in milliseconds since 1970."));
    json!({
        "title": "Filter",
        "description": "Selects beads. A bead must meet all conditions.",
        "properties": {
            "ids": texts("One of these beads."),
            "status": texts("Any of these statuses."),
            "hide_closed": flag("Not closed."),
            "type": texts("Any of these types."),
            "priority_min": number("At least this priority number."),
            "priority_max": number("At most this priority number."),
            "assignee": text("Assigned to this actor."),
            "unassigned": flag("Without an assignee."),
            "labels": texts("All of these labels."),
            "labels_any": texts("At least one of these labels."),
            "parent": text("Direct children of this bead."),
            "text": text("Text in the id, title, description or notes, ignoring case."),
            "title_contains": text("Text in the title, ignoring case."),
            "external_ref": text("Exactly this reference into another tracker."),
            "created_after": time("Created at or after this time"),
            "created_before": time("Created before this time"),
            "updated_after": time("Last changed at or after this time"),
            "updated_before": time("Last changed before this time"),
            "closed_after": time("Closed at or after this time"),
            "closed_before": time("Closed before this time"),
            "due_before": time("Due before this time"),
            "limit": number("The most beads to return."),
        }
    })
}

/// Returns the schema of the filter of `claim_next`.
fn ready_filter() -> Value {
    json!({
        "title": "ReadyFilter",
        "description": "Selects ready beads.",
        "properties": {
            "filter": {"$ref": "#/$defs/Filter", "description": "Which beads."},
            "under": {"type": "string", "description": "Only descendants of this bead."},
        }
    })
}

/// Returns the schema of the answer to `events`.
fn events() -> Value {
    json!({
        "title": "Events",
        "description": "The events after a cursor.",
        "properties": {
            "events": {"type": "array", "items": {"$ref": "#/$defs/EventAnswer"}, "description": "The events, oldest first."},
            "cursor": {"type": "string", "description": "The cursor to continue from."},
            "more": {"type": "boolean", "description": "More events are already there."},
        },
        "required": ["events", "cursor", "more"],
    })
}

/// Returns the schema of the end of a claim, as every reply may carry it.
fn claim_over() -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<beads_engine::request::ClaimOver>()
        .to_value();
    schema["title"] = "ClaimOver".into();
    schema
}

#[cfg(test)]
mod tests {
    use beads_core::query::Filter;
    use serde_json::json;

    /// Returns a value that fits the schema of a field.
    fn sample(schema: &serde_json::Value, name: &str) -> serde_json::Value {
        match schema["type"].as_str() {
            Some("boolean") => json!(true),
            Some("integer") => json!(1),
            Some("array") if name == "status" => json!(["open"]),
            Some("array") => json!(["task"]),
            _ => json!("a"),
        }
    }

    #[test]
    fn the_daemon_decodes_every_field_of_a_filter() {
        let schema = super::filter();
        for (name, field) in schema["properties"].as_object().unwrap() {
            let filter: Filter = serde_json::from_value(json!({name: sample(field, name)})).unwrap();
            assert_ne!(filter, Filter::default(), "{name} is ignored");
        }
    }
}
