//! The floor of garbage collection (§8.4).

use serde::{Deserialize, Serialize};

use crate::Stamp;

/// Deletions stamped below it may be forgotten. The greater epoch wins, and within one the greater stamp: a floor that
/// a broken clock raised is taken back by starting the next epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Floor {
    pub epoch: u64,
    pub stamp: Stamp,
}

impl Floor {
    /// Nothing may be forgotten, and no floor was ever taken back.
    pub const NONE: Self = Self { epoch: 0, stamp: Stamp::ZERO };

    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// The format version that can hold it.
    pub(crate) fn format_version(self) -> u64 {
        if self.epoch > 0 { 2 } else { 1 }
    }
}
