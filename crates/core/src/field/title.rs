use std::sync::Arc;

use crate::limits::MAX_TITLE_BYTES;
use crate::{Error, Result};

/// The title of a bead: one line, not blank.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Title(#[cfg_attr(feature = "schema", schemars(schema_with = "schema"))] Arc<str>);

/// Returns the schema with the bounds that the type checks.
#[cfg(feature = "schema")]
fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    // Unlike for other texts, the schema allows as many characters as the type allows bytes, as all other
    // interfaces do. The type refuses a title with too many bytes.
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
                    "it has {} bytes, more than {MAX_TITLE_BYTES}; move the details to the description",
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
