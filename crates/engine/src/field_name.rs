//! The names of the fields of a bead in answers, for `--fields`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::failure::Failure;

/// The names of all fields in either dialect.
pub const NAMES: &[&str] = &[
    "id",
    "title",
    "description",
    "status",
    "offered",
    "state",
    "priority",
    "type",
    "issue_type",
    "type_word",
    "labels",
    "assignee",
    "assignee_at",
    "assignee_expires",
    "silent_since",
    "created_at",
    "created_by",
    "created_on_branch",
    "updated_at",
    "updated_by",
    "closed_at",
    "closed_by",
    "closed_reason",
    "close_reason",
    "closed_on_branch",
    "external_ref",
    "source_repo",
    "design",
    "acceptance_criteria",
    "estimated_minutes",
    "due_at",
    "defer_until",
    "metadata",
    "parent",
    "content_hash",
    "if_hash",
    "blocked_by",
    "open_children",
    "remapped",
    "deleted",
    "archived",
    "notes",
    "dependencies",
    "dependents",
    "confirmed",
    "epic_total_children",
    "epic_closed_children",
    "epic_closeable",
    "comments",
    "comment_count",
    "dependency_count",
    "dependent_count",
    "blocked_by_count",
];

/// The name of a field that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FieldName(&'static str);

impl FieldName {
    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl std::str::FromStr for FieldName {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let unknown =
            || Failure::invalid(format!("{text:?} is not a field; the fields are {}", NAMES.join(", ")));
        NAMES.iter().find(|name| **name == text).map(|name| Self(name)).ok_or_else(unknown)
    }
}

// Derived, this would require that the input lives as long as the name.
impl<'de> Deserialize<'de> for FieldName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|failure: Failure| D::Error::custom(failure.message))
    }
}
