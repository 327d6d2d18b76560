use serde::{Deserialize, Serialize};

/// Which conflicts to resolve, and how.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResolveConflicts {
    /// Ids of conflicts, or unique prefixes of them.
    pub ids: Vec<String>,
    /// All conflicts that are not dismissed, instead of `ids`.
    pub all: bool,
    /// With `all`: only those of this bead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bead: Option<String>,
    /// Restore the values that lost, instead of keeping those that won.
    pub restore: bool,
}
