//! A JSON schema as a type that both languages can express.

use serde_json::Value;

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaType {
    Any,
    Null,
    Text,
    Integer,
    Number,
    Boolean,
    /// One of these texts.
    Literals(Vec<String>),
    /// A named type.
    Named(String),
    List(Box<Self>),
    Tuple(Vec<Self>),
    Map(Box<Self>),
    Union(Vec<Self>),
}

impl SchemaType {
    /// Reads a schema. `rename` maps the name of a definition to the name of its type.
    pub fn read(schema: &Value, rename: &dyn Fn(&str) -> String) -> Self {
        let read = |schema: &Value| Self::read(schema, rename);
        if let Some(name) = schema["$ref"].as_str() {
            return Self::Named(rename(name.rsplit('/').next().unwrap_or(name)));
        }
        if let Some(text) = schema["const"].as_str() {
            return Self::Literals(vec![text.to_owned()]);
        }
        if let Some(texts) = schema["enum"].as_array() {
            return Self::Literals(texts.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = schema[key].as_array() {
                return Self::union(choices.iter().map(read).collect());
            }
        }
        match &schema["type"] {
            Value::Array(names) => {
                Self::union(names.iter().map(|name| Self::simple(name, schema, rename)).collect())
            }
            name => Self::simple(name, schema, rename),
        }
    }

    fn simple(name: &Value, schema: &Value, rename: &dyn Fn(&str) -> String) -> Self {
        let read = |schema: &Value| Self::read(schema, rename);
        match name.as_str() {
            Some("null") => Self::Null,
            Some("string") => Self::Text,
            Some("integer") => Self::Integer,
            Some("number") => Self::Number,
            Some("boolean") => Self::Boolean,
            Some("array") => match schema["prefixItems"].as_array() {
                Some(items) => Self::Tuple(items.iter().map(read).collect()),
                None => Self::List(Box::new(read(&schema["items"]))),
            },
            Some("object") => Self::Map(Box::new(read(&schema["additionalProperties"]))),
            _ => Self::Any,
        }
    }

    /// Merges choices of literals into one set, so that a documented enumeration reads like a plain one.
    fn union(choices: Vec<Self>) -> Self {
        let mut merged: Vec<Self> = Vec::new();
        for choice in choices {
            match (merged.last_mut(), choice) {
                (Some(Self::Literals(texts)), Self::Literals(more)) => texts.extend(more),
                (_, choice) => merged.push(choice),
            }
        }
        if merged.len() == 1 { merged.remove(0) } else { Self::Union(merged) }
    }
}
