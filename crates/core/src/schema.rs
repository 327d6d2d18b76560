//! How values look in a JSON schema: of an answer, or of an input. The schema of an input says what the value's type checks.
//! Each bound is at least as strict as the type, so an input that fits its schema is not refused for its form. Lengths
//! count characters where the store counts bytes; they are a quarter of the store's, which every character fits into.
//!
//! Patterns mean the same in every regular-expression dialect: what must not occur is said by `not`, because `$` also
//! matches before a line break in some of them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::limits::{MAX_DERIVED_ID_BYTES, MAX_ID_BYTES, MAX_LINE_BYTES};
use crate::op::Change;
use crate::{Code, Nullable, Status, Timestamp};

/// The longest character takes this many bytes in UTF-8.
pub const WIDEST: usize = 4;

/// Anything but what counts as blank.
pub const VISIBLE: &str =
    r"[^\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";

/// The format of a time in milliseconds, by which an interface that writes times otherwise knows the field.
pub const UNIX_MS: &str = "unix-ms";

/// The mark of a value that null clears, in contrast to one that is merely absent.
pub const CLEARABLE: &str = "clearable";

/// A claim for longer than a year is a mistake in the unit.
const MAX_LEASE_MS: u64 = 365 * 24 * 60 * 60 * 1000;

/// A hash of 64 digits and two words of 64 characters, with what stands between them.
const MAX_HASH_CHARS: usize = 194;

/// Declares types that only stand for a schema.
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
    /// A bead that is there: its id, or a beginning that fits only one.
    BeadRef: text(1, MAX_DERIVED_ID_BYTES);
    /// Text that says something.
    Said: long_text(true);
    /// `ms.counter`
    FenceText: json_schema!({
        "type": "string", "minLength": 3, "maxLength": 24, "not": {"pattern": r"\n"},
        "pattern": r"^([0-9]{1,12}|[1-3][0-9]{12})\.([0-9]{1,9}|[1-3][0-9]{9})$"
    });
    ContentHash: text(1, MAX_HASH_CHARS);
    LeaseMs: number(1, MAX_LEASE_MS);
    /// What a closed bead may become again.
    Reopened: json_schema!({
        "type": "string", "enum": [Status::Open.as_str(), Status::InProgress.as_str()],
        "default": Status::Open.as_str()
    });
}

/// The schema of a type that is a checked string. An answer may hold what a version with other bounds took.
pub(crate) fn text_field(generator: &SchemaGenerator, input: Schema) -> Schema {
    if generator.contract().is_deserialize() { input } else { json_schema!({"type": "string"}) }
}

/// The schema of a type that is a checked number.
pub(crate) fn number_field(generator: &mut SchemaGenerator, most: u64) -> Schema {
    if generator.contract().is_deserialize() { number(0, most) } else { u64::json_schema(generator) }
}

/// The schema of a type that is a bounded list.
pub(crate) fn list_field<T: JsonSchema>(generator: &mut SchemaGenerator, most: usize) -> Schema {
    let mut schema = Vec::<T>::json_schema(generator);
    if generator.contract().is_deserialize() {
        schema.insert("maxItems".to_owned(), most.into());
    }
    schema
}

pub fn text(least: usize, most: usize) -> Schema {
    json_schema!({"type": "string", "minLength": least, "maxLength": most})
}

/// Text on one line. `visible` asks for more than blanks.
pub fn line(least: usize, most: usize, visible: bool) -> Schema {
    let mut schema = text(least, most);
    schema.insert("not".to_owned(), json!({"pattern": r"[\u0000-\u001f\u007f-\u009f]"}));
    if visible {
        schema.insert("pattern".to_owned(), json!(VISIBLE));
    }
    schema
}

/// More than blanks on one line, and none of these characters.
pub(crate) fn line_without(most: usize, characters: &str) -> Schema {
    let mut schema = line(1, most, true);
    schema.insert("not".to_owned(), json!({"pattern": format!(r"[\u0000-\u001f\u007f-\u009f{characters}]")}));
    schema
}

/// Text on any number of lines. `said` asks for more than blanks.
pub(crate) fn long_text(said: bool) -> Schema {
    let mut schema = text(usize::from(said), MAX_LINE_BYTES / WIDEST);
    schema.insert("not".to_owned(), json!({"pattern": r"\u0000"}));
    if said {
        schema.insert("pattern".to_owned(), json!(VISIBLE));
    }
    schema
}

pub fn words<const N: usize>(words: [&str; N]) -> Schema {
    json_schema!({"type": "string", "enum": words.as_slice()})
}

pub fn number(least: u64, most: u64) -> Schema {
    json_schema!({"type": "integer", "minimum": least, "maximum": most})
}

/// An id that a bead may be born with.
pub(crate) fn new_id() -> Schema {
    json_schema!({
        "type": "string", "minLength": 1, "maxLength": MAX_ID_BYTES, "pattern": "^[A-Za-z0-9][A-Za-z0-9._]*-",
        "not": {"pattern": "[^A-Za-z0-9._-]"}
    })
}

/// The same value, or null to clear the field.
pub fn or_null(mut schema: Schema) -> Schema {
    let own = schema.get("type").cloned().unwrap_or(Value::Null);
    // What is said of characters holds for text alone; `not` would else exclude null, which has none.
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

/// A time as answers show it.
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

/// Any string: codes of newer versions are accepted too.
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
