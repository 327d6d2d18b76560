use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::canonical::to_canonical;
use crate::limits::MAX_METADATA_DEPTH;
use crate::{Error, Result};

/// Metadata for other tools, as a JSON object.
// The only place in the files where numbers may have fractions: other tools must get back exactly what they
// stored.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Map<String, Value>")]
pub struct Metadata(Arc<Map<String, Value>>);

/// Compares the canonical bytes. `0.0` and `-0.0` are equal as numbers but differ in the files; if they
/// compared as equal, the result of a join would depend on its order.
impl PartialEq for Metadata {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || to_canonical(&self.0) == to_canonical(&other.0)
    }
}

impl Eq for Metadata {}

impl Metadata {
    /// Returns whether the object has no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Returns the object.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// Drops null values, as everywhere in the files: null means absent.
impl TryFrom<Map<String, Value>> for Metadata {
    type Error = Error;

    fn try_from(mut map: Map<String, Value>) -> Result<Self> {
        map.retain(|_, value| !value.is_null());
        if map.values().any(|value| !is_within(value, MAX_METADATA_DEPTH)) {
            let reason = format!("it is nested deeper than {MAX_METADATA_DEPTH} levels");
            return Err(Error::invalid("metadata", reason));
        }
        Ok(Self(Arc::new(map)))
    }
}

fn is_within(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(values) => depth > 0 && values.iter().all(|value| is_within(value, depth - 1)),
        Value::Object(map) => depth > 0 && map.values().all(|value| is_within(value, depth - 1)),
        _ => true,
    }
}

impl std::str::FromStr for Metadata {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => map.try_into(),
            Ok(_) => Err(Error::invalid("metadata", "it is not a JSON object")),
            Err(error) => Err(Error::invalid("metadata", format!("it is not JSON: {error}"))),
        }
    }
}
