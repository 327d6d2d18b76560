//! Puts custom statuses and types where clients of the Go `bd` look for them: in `status` and `issue_type`.

use std::borrow::Cow;

use beads_core::{BeadFacts, LinkView, Word};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// A value that may have a custom status or type.
pub trait CustomWords: Serialize {
    /// Returns the custom status.
    fn status_word(&self) -> Option<&Word>;
    /// Returns the custom type.
    fn type_word(&self) -> Option<&Word>;
}

impl CustomWords for BeadFacts {
    fn status_word(&self) -> Option<&Word> {
        self.state.as_ref()
    }

    fn type_word(&self) -> Option<&Word> {
        self.type_word.as_ref()
    }
}

impl CustomWords for LinkView {
    fn status_word(&self) -> Option<&Word> {
        self.state.as_ref()
    }

    fn type_word(&self) -> Option<&Word> {
        self.type_word.as_ref()
    }
}

/// A value that serialises with its custom status and type instead of the built-in ones.
#[derive(Debug)]
pub struct Worded<'a, T>(pub &'a T);

impl<T: CustomWords> Serialize for Worded<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (status, kind) = (self.0.status_word(), self.0.type_word());
        if status.is_none() && kind.is_none() {
            return self.0.serialize(serializer);
        }
        let mut fields = match serde_json::to_value(self.0) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => return Err(S::Error::custom("a bead is an object")),
            Err(error) => return Err(S::Error::custom(error)),
        };
        let mut replace = |names: &[&str], word: Option<&Word>| {
            for name in names {
                if let (Some(field), Some(word)) = (fields.get_mut(*name), word) {
                    *field = Value::String(word.to_string());
                }
            }
        };
        replace(&["status"], status);
        replace(&["type", "issue_type"], kind);
        fields.remove("state");
        fields.remove("type_word");
        fields.serialize(serializer)
    }
}

/// The schema of the plain form, except that statuses and types may be any string.
impl<T: JsonSchema> JsonSchema for Worded<'_, T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Worded{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.remove("state");
            properties.remove("type_word");
            for name in ["status", "type", "issue_type"] {
                if let Some(property) = properties.get_mut(name) {
                    *property = serde_json::json!({"type": "string"});
                }
            }
        }
        schema
    }
}
