use serde::{Deserialize, Serialize};

use super::{Line, Text, Word};
use crate::{Error, Result};

/// The stored status. Whether a bead is blocked is not stored but follows from its dependencies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schemars(transform = crate::schema::plain_enum))]
pub enum Status {
    /// Work has not begun.
    #[default]
    Open,
    /// An actor works on it.
    InProgress,
    /// It is done, or will not be done.
    Closed,
}

impl Status {
    /// All statuses.
    pub const ALL: [Self; 3] = [Self::Open, Self::InProgress, Self::Closed];

    /// Returns the name of the status.
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

/// The status with its custom word and the details of the close. They share one register, so that a merge
/// never combines the reason or the word of one write with the status of another. `closed_at` and `closed_by`
/// are the mark of that register.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusGroup {
    /// The status.
    pub status: Status,
    /// A more specific custom status, such as one imported from another tracker.
    pub word: Option<Word>,
    /// Why the bead was closed.
    pub closed_reason: Text,
    /// The git branch on which it was closed.
    pub closed_on_branch: Line,
}

impl From<Status> for StatusGroup {
    fn from(status: Status) -> Self {
        Self { status, ..Self::default() }
    }
}

impl StatusGroup {
    /// Returns the custom word if there is one, otherwise the status.
    pub fn shown(&self) -> &str {
        self.word.as_ref().map_or(self.status.as_str(), Word::as_str)
    }
}
