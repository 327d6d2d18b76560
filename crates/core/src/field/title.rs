use std::sync::Arc;

use schemars::JsonSchema;

use crate::limits::MAX_TITLE_BYTES;
use crate::{Error, Result};

/// One non-blank line that names the work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
pub struct Title(Arc<str>);

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
