use serde::{Deserialize, Serialize};

use super::{Line, Text, Word};
use crate::{Error, Result};

/// The three states that are stored. "Blocked" is derived from dependencies, never stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[default]
    Open,
    InProgress,
    Closed,
}

impl Status {
    pub const ALL: [Self; 3] = [Self::Open, Self::InProgress, Self::Closed];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::InProgress => "in_progress",
            Self::Closed => "closed",
        }
    }
}

impl std::str::FromStr for Status {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text || status.as_str().replace('_', "-") == text)
            .ok_or_else(|| Error::invalid("status", format!("{text:?} is not open, in_progress or closed")))
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The status, the word of another tracker that stands for it, and what is said about a closing: one register, because
/// a reason without its closing would lie, and so would a word without its status.
/// `closed_at` and `closed_by` are the register's own mark.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusGroup {
    pub status: Status,
    pub word: Option<Word>,
    pub closed_reason: Text,
    pub closed_on_branch: Line,
}

impl From<Status> for StatusGroup {
    fn from(status: Status) -> Self {
        Self { status, ..Self::default() }
    }
}

impl StatusGroup {
    /// The word if there is one, else the status.
    pub fn shown(&self) -> &str {
        self.word.as_ref().map_or(self.status.as_str(), Word::as_str)
    }
}
