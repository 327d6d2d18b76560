//! Session ids.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The maximum length. A harness chooses the id; it is usually a UUID.
const MAX_BYTES: usize = 200;

/// One run of an agent, named by its harness. Sessions are local: they are kept beside the store and never
/// synchronised.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(#[schemars(with = "String")] Arc<str>);

impl SessionId {
    /// Returns the id as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a new id for a session that lasts as long as this process. It names the parent process, the
    /// program that runs the agent: the agent's hooks find the session by it.
    pub fn of_this_process() -> Self {
        let (high, low) =
            (beads_store::random_u64().unwrap_or_default(), beads_store::random_u64().unwrap_or_default());
        let (process, parent) = (std::process::id(), std::os::unix::process::parent_id());
        Self(format!("process-{process}-of-{parent}-{high:016x}{low:016x}").into())
    }

    /// Returns the parent of the process behind the session, if [`Self::of_this_process`] created the id.
    /// Ignores process 1, which adopts orphaned processes.
    pub fn parent(&self) -> Option<u32> {
        let mut parts = self.0.strip_prefix("process-")?.split('-');
        parts.nth(1).filter(|part| *part == "of")?;
        parts.next()?.parse().ok().filter(|parent| *parent > 1)
    }
}

impl std::str::FromStr for SessionId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() || text.len() > MAX_BYTES || text.chars().any(char::is_control) {
            return Err(format!("a session id is one line of 1 to {MAX_BYTES} bytes"));
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for SessionId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.as_str().to_owned()
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_one_short_line() {
        assert!("019d1afb-b2c7".parse::<SessionId>().is_ok());
        for bad in ["", "  ", "two\nlines", &"x".repeat(MAX_BYTES + 1)] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad:?}");
        }
        assert_ne!(SessionId::of_this_process(), SessionId::of_this_process());
        assert_eq!(SessionId::of_this_process().parent(), Some(std::os::unix::process::parent_id()));
        for other in ["process-7-of-1-ab", "process-7-ab", "019d1afb-b2c7", "process-7-of-x-ab"] {
            assert_eq!(other.parse::<SessionId>().unwrap().parent(), None, "{other}");
        }
    }
}
