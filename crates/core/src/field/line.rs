use std::sync::Arc;

use crate::limits::MAX_TITLE_BYTES;
use crate::{Error, Result};

/// Optional text on one line, such as a branch, a repository, or a reference into another tracker.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Line(#[cfg_attr(feature = "schema", schemars(schema_with = "schema"))] Arc<str>);

/// Returns the schema with the bounds that the type checks.
#[cfg(feature = "schema")]
fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    crate::schema::text_field(
        generator,
        crate::schema::line(0, MAX_TITLE_BYTES / crate::schema::MAX_CHAR_BYTES, false),
    )
}

super::string_newtype!(Line);

impl Line {
    /// Returns whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text, or `None` if it is empty.
    pub fn non_empty(&self) -> Option<&str> {
        (!self.is_empty()).then_some(self.as_str())
    }
}

impl std::str::FromStr for Line {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.len() > MAX_TITLE_BYTES {
            return Err(Error::invalid("text", format!("it is longer than {MAX_TITLE_BYTES} bytes")));
        }
        if text.chars().any(char::is_control) {
            return Err(Error::invalid("text", "it has control characters or line breaks"));
        }
        Ok(Self(text.into()))
    }
}
