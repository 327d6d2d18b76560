use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, Result};

/// A JSON object for whatever other tools want to keep with a bead. The only place in the files where numbers
/// may have fractions: they are foreign data and must come back as they went in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Map<String, Value>")]
pub struct Metadata(Arc<Map<String, Value>>);

/// `serde_json` numbers come from parsed text, so none of them is NaN and equality is an equivalence.
impl Eq for Metadata {}

impl Metadata {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// Null values say nothing and are dropped, as everywhere in the files.
impl From<Map<String, Value>> for Metadata {
    fn from(mut map: Map<String, Value>) -> Self {
        map.retain(|_, value| !value.is_null());
        Self(Arc::new(map))
    }
}

impl std::str::FromStr for Metadata {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Ok(map.into()),
            Ok(_) => Err(Error::invalid("metadata", "it is not a JSON object")),
            Err(error) => Err(Error::invalid("metadata", format!("it is not JSON: {error}"))),
        }
    }
}
