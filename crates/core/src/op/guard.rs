use serde::{Deserialize, Serialize};

use crate::{Bead, Catalog, Error, Lineage, Result, Stamp, content_hash};

/// What must still be true for a mutation to go ahead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// The `content_hash` the caller read (§9.3).
    #[serde(default, rename = "expected_content_hash", skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
    /// The fence of the claim the caller believes to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
}

/// A fence as printed, `ms.counter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fence(pub Stamp);

impl std::str::FromStr for Fence {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self)
    }
}

impl TryFrom<String> for Fence {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse().map(Self)
    }
}

impl From<Fence> for String {
    fn from(fence: Fence) -> Self {
        fence.0.to_string()
    }
}

impl Guard {
    pub(super) fn check(&self, catalog: &Catalog, lineage: &Lineage, bead: &Bead) -> Result<()> {
        let id = catalog.id_of(lineage);
        if let Some(expected) = &self.content_hash {
            let current = content_hash(id, lineage, bead);
            if *expected != current {
                return Err(Error::HashMismatch { id: id.clone(), current });
            }
        }
        if let Some(fence) = self.fence
            && bead.claim.fence() != Some(fence.0)
        {
            let current = bead.claim.fence().map_or_else(|| "none".into(), |stamp| stamp.to_string());
            let holder = bead.claim.assignee.clone();
            return Err(Error::StaleClaim { id: id.clone(), current, holder });
        }
        Ok(())
    }
}
