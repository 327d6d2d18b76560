use std::sync::Arc;

use crate::limits::MAX_TITLE_BYTES;
use crate::{Error, Result};

/// One non-blank line that names the work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Title(#[cfg_attr(feature = "schema", schemars(schema_with = "schema"))] Arc<str>);

/// How the schema of an input says what the type checks.
#[cfg(feature = "schema")]
fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    // As long as on every other interface: the type counts bytes, and refuses what is longer in them.
    crate::schema::text_field(generator, crate::schema::line(1, MAX_TITLE_BYTES, true))
}

super::string_newtype!(Title);

impl std::str::FromStr for Title {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.trim().is_empty() {
            return Err(Error::invalid("title", "it is empty"));
        }
        if text.len() > MAX_TITLE_BYTES {
            return Err(Error::invalid(
                "title",
                format!(
                    "it has {} bytes, at most {MAX_TITLE_BYTES} fit; put the rest into the description",
                    text.len()
                ),
            ));
        }
        if text.chars().any(char::is_control) {
            return Err(Error::invalid("title", "it has control characters or line breaks"));
        }
        Ok(Self(text.into()))
    }
}
