use serde::{Deserialize, Serialize};

use super::Applied;
use crate::{Catalog, Context, Delta, MintedStoreId, Result, StoreId};

/// Generates the id of the store, if it has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MintStoreId {}

impl MintStoreId {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        if catalog.state().store_id().is_some() {
            return Ok(Applied::default());
        }
        let id = StoreId::from_random((context.random)(), (context.random)());
        let minted = MintedStoreId { mark: context.mark([])?, id };
        Ok(Applied { delta: Delta { store_id: Some(minted), ..Delta::default() }, ..Applied::default() })
    }
}
