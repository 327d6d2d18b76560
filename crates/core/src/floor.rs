//! The floor of garbage collection (§8.4).

use serde::{Deserialize, Serialize};

use crate::Stamp;

/// The floor of garbage collection: deletions with an earlier stamp are dropped. The greater epoch wins, and
/// within an epoch the greater stamp. Starting the next epoch resets a floor that a broken clock raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Floor {
    /// The number of times that the floor was reset.
    pub epoch: u64,
    /// The stamp below which deletions are dropped.
    pub stamp: Stamp,
}

impl Floor {
    /// No floor: nothing is dropped, and the floor was never reset.
    pub const NONE: Self = Self { epoch: 0, stamp: Stamp::ZERO };

    /// Returns whether there is no floor and never was one.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Returns the lowest format version that can hold this floor.
    pub(crate) fn format_version(self) -> u64 {
        if self.epoch > 0 { 2 } else { 1 }
    }
}
