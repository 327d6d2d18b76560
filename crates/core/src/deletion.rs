//! Deletions. A deletion is a separate register, and the bead keeps its content, because a merge may still
//! revive it.

use serde::{Deserialize, Serialize};

use crate::{Mark, Text};

/// Who deleted a bead, when and why. Ordered by mark, then by reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deletion {
    /// Who deleted the bead and when.
    pub mark: Mark,
    /// The reason; may be empty.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
}
