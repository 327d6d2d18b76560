use std::sync::Arc;

use schemars::JsonSchema;

use crate::{Error, Result};

/// Free text over any number of lines, perhaps empty. Pasted logs with colour codes are welcome: text is
/// escaped when it is shown, never when it is stored. Only NUL is refused, because no shell can carry it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
pub struct Text(Arc<str>);

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
