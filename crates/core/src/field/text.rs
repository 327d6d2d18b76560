use std::sync::Arc;

use crate::{Error, Result};

/// Free text over any number of lines, perhaps empty. Pasted logs with colour codes are welcome: text is
/// escaped when it is shown, never when it is stored. Only NUL is refused, because no shell can carry it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Text(#[cfg_attr(feature = "schema", schemars(schema_with = "schema"))] Arc<str>);

/// How the schema of an input says what the type checks.
#[cfg(feature = "schema")]
fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    crate::schema::text_field(generator, crate::schema::long_text(false))
}

super::string_newtype!(Text);

impl Text {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text, or `None` when it is empty: the two are one value.
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
