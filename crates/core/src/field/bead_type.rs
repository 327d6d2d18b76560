use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The type of work (§4.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schemars(transform = crate::schema::plain_enum))]
pub enum BeadType {
    /// Something that is wrong.
    Bug,
    /// Something that users will notice.
    Feature,
    /// Any other work.
    #[default]
    Task,
    /// A goal that consists of its children.
    Epic,
    /// Upkeep, such as an upgrade of a dependency.
    Chore,
}

impl BeadType {
    /// All types.
    pub const ALL: [Self; 5] = [Self::Bug, Self::Feature, Self::Task, Self::Epic, Self::Chore];

    /// Returns the name of the type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bug => "bug",
            Self::Feature => "feature",
            Self::Task => "task",
            Self::Epic => "epic",
            Self::Chore => "chore",
        }
    }
}

impl std::str::FromStr for BeadType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            Error::invalid("type", format!("{text:?} is not bug, feature, task, epic or chore"))
        })
    }
}

impl std::fmt::Display for BeadType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
