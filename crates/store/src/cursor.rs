//! Where a watcher is in the event log.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A position between two events: after event `seq` of the log `log`. The default is the beginning of any log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cursor {
    pub(crate) log: String,
    pub(crate) seq: u64,
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.log.is_empty() { write!(f, "{}", self.seq) } else { write!(f, "{}-{}", self.log, self.seq) }
    }
}

/// `0` is the beginning of any log. It expires like any other cursor once the first events are deleted.
impl std::str::FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || Error::BadCursor(text.to_owned());
        let (log, seq) = text.rsplit_once('-').unwrap_or(("", text));
        let seq = seq.parse().map_err(|_| bad())?;
        if (log.is_empty() && seq != 0) || !log.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(bad());
        }
        Ok(Self { log: log.to_owned(), seq })
    }
}

impl TryFrom<String> for Cursor {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> Self {
        cursor.to_string()
    }
}
