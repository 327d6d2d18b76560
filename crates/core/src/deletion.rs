//! Deletions. A deletion is a separate register, and the bead keeps its content, because a merge may still
//! revive it. Archiving is a kind of deletion whose content moves to the archive
//! (docs/adr/0083-archive.md).

use serde::{Deserialize, Serialize};

use crate::{Mark, Text};

/// Who deleted a bead, when and why. Ordered by mark, then by reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deletion {
    /// Who deleted the bead and when. For an archived bead: the mark of its last write.
    pub mark: Mark,
    /// The reason; may be empty.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
    /// Whether the bead was archived rather than deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

impl Deletion {
    /// Returns the deletion of a bead.
    pub fn new(mark: Mark, reason: Text) -> Self {
        Self { mark, reason, archived: false }
    }

    /// Returns the marker of a bead that is archived as of its last write.
    pub fn archived(last_write: Mark) -> Self {
        Self { mark: last_write, reason: Text::default(), archived: true }
    }
}
