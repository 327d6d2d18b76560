//! What must still be true for a change to go ahead.

use beads_core::op::Fence;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::field;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Guard {
    /// Refuse if the bead has changed since it had this `if_hash`, or without one this `content_hash`
    #[schemars(with = "field::ContentHash")]
    expected_content_hash: Option<String>,
    /// Refuse unless this is still the `fence` of the bead's claim
    #[schemars(with = "field::Fence")]
    fence: Option<Fence>,
}

impl From<Guard> for beads_core::op::Guard {
    fn from(guard: Guard) -> Self {
        Self { content_hash: guard.expected_content_hash, fence: guard.fence }
    }
}
