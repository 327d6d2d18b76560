use serde::{Deserialize, Serialize};

use crate::{Bead, Catalog, Error, Lineage, Result, Stamp, content_hash};

/// Preconditions of a mutation. If one does not hold, the mutation is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guard {
    /// Refuse if the bead has changed since it had this `if_hash` (or `content_hash` if it had no `if_hash`)
    #[serde(default, rename = "expected_content_hash", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::ContentHash>"))]
    pub content_hash: Option<String>,
    /// Refuse unless the bead's claim still has this `fence`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::FenceText>"))]
    pub fence: Option<Fence>,
}

/// The fencing token of a claim, written `ms.counter`.
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
    /// Finds the bead that an operation changes, and checks the preconditions on it.
    pub(super) fn bead<'a>(&self, catalog: &'a Catalog, id: &str) -> Result<(&'a Lineage, &'a Bead)> {
        let lineage = catalog.resolve_to_change(id)?;
        let bead = catalog.bead(lineage).ok_or_else(|| Error::NotFound(id.to_owned()))?;
        self.check(catalog, lineage, bead)?;
        Ok((lineage, bead))
    }

    pub(super) fn check(&self, catalog: &Catalog, lineage: &Lineage, bead: &Bead) -> Result<()> {
        let id = catalog.id_of(lineage);
        if let Some(expected) = &self.content_hash {
            let current = content_hash(id, lineage, bead);
            let (hash, words) = expected.split_once('+').unwrap_or((expected, NO_WORDS));
            if hash != current || words != words_of(bead) {
                let if_hash = if_hash(&current, bead);
                return Err(Error::HashMismatch { id: id.clone(), current, if_hash });
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

const NO_WORDS: &str = "/";

/// Returns the `if_hash` of a bead whose status or type has a custom word; other beads need only the content
/// hash.
pub(crate) fn if_hash(hash: &str, bead: &Bead) -> Option<String> {
    let words = words_of(bead);
    (words != NO_WORDS).then(|| format!("{hash}+{words}"))
}

/// Returns `<status word>/<type word>`, which the content hash does not cover. A missing word is empty.
fn words_of(bead: &Bead) -> String {
    let text = |word: &Option<crate::Word>| word.as_ref().map_or_else(String::new, ToString::to_string);
    format!("{}/{}", text(&bead.status.value.word), text(&bead.kind.value.word))
}
