use std::sync::Arc;

use crate::{Error, Result};

/// Free text of any number of lines, or empty. It may contain control characters, but no NUL.
// Pasted logs with colour codes are fine: text is escaped when it is displayed, never when it is stored. NUL
// is refused because it cannot be passed as an argument of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Text(#[cfg_attr(feature = "schema", schemars(schema_with = "schema"))] Arc<str>);

/// Returns the schema with the bounds that the type checks.
#[cfg(feature = "schema")]
fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    crate::schema::text_field(generator, crate::schema::long_text(false))
}

super::string_newtype!(Text);

impl Text {
    /// Returns whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text, or `None` if it is empty.
    pub fn non_empty(&self) -> Option<&str> {
        (!self.is_empty()).then_some(self.as_str())
    }
}

impl std::str::FromStr for Text {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.contains('\0') {
            return Err(Error::invalid("text", "it has a NUL byte"));
        }
        Ok(Self(text.into()))
    }
}
