//! Parses a line as a JSON object.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::exact::{self, Exact};

/// The fields of a line, with the field of our own exports kept apart. That field is the larger part of such
/// a line, and is parsed into its type directly, without an intermediate `Value`.
#[derive(Debug)]
pub(super) struct Object<'a> {
    pub others: Map<String, Value>,
    exact: Option<&'a RawValue>,
}

impl Object<'_> {
    /// Parses the field of our own exports. Returns `None` if it is absent or malformed.
    pub fn exact(&self) -> Option<Exact> {
        serde_json::from_str(self.exact?.get()).ok()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
        let mut object = Object { others: Map::new(), exact: None };
        while let Some(name) = map.next_key::<String>()? {
            if name == exact::NAME {
                object.exact = Some(map.next_value()?);
            } else {
                object.others.insert(name, map.next_value()?);
            }
        }
        Ok(object)
    }
}

/// Parses a line. Error messages do not quote its content.
pub(super) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    for marker in ["<<<<<<<", "|||||||", "=======", ">>>>>>>"] {
        if bytes.starts_with(marker.as_bytes()) {
            return Err(format!("a conflict marker ({marker})"));
        }
    }
    // Parsing a `str` is faster. For invalid UTF-8, let `from_slice` report the error.
    let read =
        std::str::from_utf8(bytes).map_or_else(|_| serde_json::from_slice(bytes), serde_json::from_str);
    read.map_err(|error: serde_json::Error| {
        if error.is_data() {
            "not a JSON object".to_owned()
        } else {
            format!("not JSON: stopped at column {}", error.column())
        }
    })
}
