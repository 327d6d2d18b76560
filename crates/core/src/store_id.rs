//! The id of a store. It is minted by the first feature that needs one and is the same on every replica.

use serde::{Deserialize, Serialize};

use crate::{Actor, Error, Mark, Result, Stamp};

/// 32 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoreId(std::sync::Arc<str>);

crate::field::string_newtype!(StoreId);

impl StoreId {
    /// Returns an id of 128 random bits.
    pub fn from_random(high: u64, low: u64) -> Self {
        Self(format!("{high:016x}{low:016x}").into())
    }
}

impl std::str::FromStr for StoreId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.len() != 32 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(Error::invalid("store id", format!("{text:?} is not 32 hexadecimal digits")));
        }
        Ok(Self(text.into()))
    }
}

/// A store id and who minted it. Several replicas may mint one before they sync; the earliest wins, and on a
/// tie the lesser id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MintedStoreId {
    /// Who minted the id and when.
    pub mark: Mark,
    /// The id.
    pub id: StoreId,
}

/// The JSON form of a minted store id in the journal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredStoreId(StoreId, Stamp, Actor);

impl MintedStoreId {
    pub(crate) fn stored(&self) -> StoredStoreId {
        StoredStoreId(self.id.clone(), self.mark.at(), self.mark.by().clone())
    }
}

impl From<StoredStoreId> for MintedStoreId {
    fn from(StoredStoreId(id, at, by): StoredStoreId) -> Self {
        Self { mark: Mark::new(at, by), id }
    }
}

/// Keeps the id that was minted first.
pub(crate) fn join(mine: &mut Option<MintedStoreId>, theirs: Option<&MintedStoreId>) {
    if let Some(theirs) = theirs
        && mine.as_ref().is_none_or(|mine| theirs < mine)
    {
        *mine = Some(theirs.clone());
    }
}
