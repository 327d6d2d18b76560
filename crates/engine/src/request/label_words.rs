use beads_core::op::Guard;
use serde::{Deserialize, Serialize};

/// Beads and labels, as `bd label add` takes them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LabelWords {
    /// Ids, then labels. The first word is an id and the last one a label. The service decides where the
    /// labels begin, because a label may look like an id.
    pub words: Vec<String>,
    /// Remove the labels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remove: bool,
    /// Preconditions.
    #[serde(flatten)]
    pub guard: Guard,
}
