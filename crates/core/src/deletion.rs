//! A deletion is a register of its own; the bead's content stays beside it, because a merge may still revive it.

use serde::{Deserialize, Serialize};

use crate::{Mark, Text};

/// Who deleted a bead, when and why. Ordered by mark; equal marks are settled by the reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deletion {
    pub mark: Mark,
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
}
