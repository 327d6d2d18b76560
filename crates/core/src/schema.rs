//! JSON schemas of values, for answers and for inputs. The schema of an input describes the checks of the
//! value's type. It is at least as strict as the type, so an input that matches its schema is never rejected
//! for its form. Schemas count characters where the store counts bytes, so their length limits are a quarter
//! of the store's.
//!
//! Patterns have the same meaning in every regular-expression dialect. Forbidden characters are expressed
//! with `not`, because in some dialects `$` also matches before a line break.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::limits::{
    MAX_DERIVED_ID_BYTES, MAX_ID_BYTES, MAX_LINE_BYTES, MAX_QUESTION_OPTION_CHARS, MAX_QUESTION_OPTIONS,
};
use crate::op::Change;
use crate::{Code, Nullable, Status, Timestamp};

/// Replaces the `oneOf` of an enumeration with documented variants by a plain `enum`. The descriptions would make
/// the schemas longer, and models pay for them.
pub fn plain_enum(schema: &mut Schema) {
    let Some(Value::Array(variants)) = schema.remove("oneOf") else { return };
    let names: Vec<Value> =
        variants.into_iter().filter_map(|mut one| Some(one.get_mut("const")?.take())).collect();
    schema.insert("type".to_owned(), "string".into());
    schema.insert("enum".to_owned(), names.into());
}

/// The maximum length of a character in UTF-8.
pub const MAX_CHAR_BYTES: usize = 4;

/// A pattern that matches any character that is not blank.
pub const VISIBLE: &str =
    r"[^\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";

/// The format of times in milliseconds. Interfaces with another notation for times recognize these fields by
/// it.
pub const UNIX_MS: &str = "unix-ms";

/// The keyword of a field that null clears, in contrast to a field that may merely be absent.
pub const CLEARABLE: &str = "clearable";

/// One year. A longer claim is probably in the wrong unit.
const MAX_LEASE_MS: u64 = 365 * 24 * 60 * 60 * 1000;

/// A hash of 64 digits, two words of 64 characters, and the separators.
const MAX_HASH_CHARS: usize = 194;

/// A note id has 12 digits.
const MAX_NOTE_REF_CHARS: usize = 12;

/// Declares types that only represent a schema.
#[macro_export]
macro_rules! schema_types {
    ($($(#[$comment:meta])* $name:ident: $schema:expr;)*) => {$(
        $(#[$comment])*
        #[derive(Debug)]
        pub enum $name {}

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    )*};
}

schema_types! {
    /// An existing bead: its id, or an unambiguous beginning of it.
    BeadRef: text(1, MAX_DERIVED_ID_BYTES);
    /// Text that is not blank.
    NonBlankText: long_text(true);
    /// A fence, `ms.counter`.
    FenceText: json_schema!({
        "type": "string", "minLength": 3, "maxLength": 24, "not": {"pattern": r"\n"},
        "pattern": r"^([0-9]{1,12}|[1-3][0-9]{12})\.([0-9]{1,9}|[1-3][0-9]{9})$"
    });
    /// A `content_hash` or an `if_hash`.
    ContentHash: text(1, MAX_HASH_CHARS);
    /// The length of a lease in milliseconds.
    LeaseMs: number(1, MAX_LEASE_MS);
    /// The suggested answers to a question.
    QuestionOptions: json_schema!({
        "type": "array", "maxItems": MAX_QUESTION_OPTIONS,
        "items": {
            "type": "string", "minLength": 1, "maxLength": MAX_QUESTION_OPTION_CHARS, "pattern": VISIBLE
        }
    });
    /// A note: its id, or the beginning of it.
    NoteRef: text(1, MAX_NOTE_REF_CHARS);
    /// The status of a reopened bead.
    Reopened: json_schema!({
        "type": "string", "enum": [Status::Open.as_str(), Status::InProgress.as_str()],
        "default": Status::Open.as_str()
    });
}

/// Returns the schema of a type that is a checked string. Answers may contain values from a version with
/// other limits, so their schema is any string.
pub(crate) fn text_field(generator: &SchemaGenerator, input: Schema) -> Schema {
    if generator.contract().is_deserialize() { input } else { json_schema!({"type": "string"}) }
}

/// Returns the schema of a type that is a checked number.
pub(crate) fn number_field(generator: &mut SchemaGenerator, most: u64) -> Schema {
    if generator.contract().is_deserialize() { number(0, most) } else { u64::json_schema(generator) }
}

/// Returns the schema of a type that is a list of limited length.
pub(crate) fn list_field<T: JsonSchema>(generator: &mut SchemaGenerator, most: usize) -> Schema {
    let mut schema = Vec::<T>::json_schema(generator);
    if generator.contract().is_deserialize() {
        schema.insert("maxItems".to_owned(), most.into());
    }
    schema
}

/// Returns the schema of text with a length in characters.
pub fn text(least: usize, most: usize) -> Schema {
    json_schema!({"type": "string", "minLength": least, "maxLength": most})
}

/// Returns the schema of text on one line. `visible` requires a character that is not blank.
pub fn line(least: usize, most: usize, visible: bool) -> Schema {
    let mut schema = text(least, most);
    schema.insert("not".to_owned(), json!({"pattern": r"[\u0000-\u001f\u007f-\u009f]"}));
    if visible {
        schema.insert("pattern".to_owned(), json!(VISIBLE));
    }
    schema
}

/// Returns the schema of a non-blank line without these characters.
pub(crate) fn line_without(most: usize, characters: &str) -> Schema {
    let mut schema = line(1, most, true);
    schema.insert("not".to_owned(), json!({"pattern": format!(r"[\u0000-\u001f\u007f-\u009f{characters}]")}));
    schema
}

/// Returns the schema of text on any number of lines. `visible` requires a character that is not blank.
pub(crate) fn long_text(visible: bool) -> Schema {
    let mut schema = text(usize::from(visible), MAX_LINE_BYTES / MAX_CHAR_BYTES);
    schema.insert("not".to_owned(), json!({"pattern": r"\u0000"}));
    if visible {
        schema.insert("pattern".to_owned(), json!(VISIBLE));
    }
    schema
}

/// Returns the schema of a fixed set of words.
pub fn words<const N: usize>(words: [&str; N]) -> Schema {
    json_schema!({"type": "string", "enum": words.as_slice()})
}

/// Returns the schema of an integer in a range.
pub fn number(least: u64, most: u64) -> Schema {
    json_schema!({"type": "integer", "minimum": least, "maximum": most})
}

/// Returns the schema of the id of a new bead.
pub(crate) fn new_id() -> Schema {
    json_schema!({
        "type": "string", "minLength": 1, "maxLength": MAX_ID_BYTES, "pattern": "^[A-Za-z0-9][A-Za-z0-9._]*-",
        "not": {"pattern": "[^A-Za-z0-9._-]"}
    })
}

/// Returns a schema that also allows null, which clears the field.
pub fn or_null(mut schema: Schema) -> Schema {
    let own = schema.get("type").cloned().unwrap_or(Value::Null);
    // Limit `not` to strings; otherwise it would also exclude null.
    if let Some(Value::Object(excluded)) = schema.get_mut("not") {
        excluded.insert("type".to_owned(), own.clone());
    }
    schema.insert("type".to_owned(), json!([own, "null"]));
    schema
}

impl<T: JsonSchema> JsonSchema for Change<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("ChangeOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = or_null(T::json_schema(generator));
        schema.insert(CLEARABLE.to_owned(), true.into());
        schema
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "format": UNIX_MS})
    }
}

/// The schema of a time in an answer.
#[derive(Debug)]
pub enum Rfc3339 {}

impl JsonSchema for Rfc3339 {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "RFC 3339 in UTC with milliseconds",
            "type": "string",
            "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$",
        })
    }
}

/// Any string, because codes of newer versions are accepted too.
impl JsonSchema for Code {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Code".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

impl<T> JsonSchema for Nullable<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Nullable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<String>::json_schema(generator)
    }
}
