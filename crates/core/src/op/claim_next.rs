use serde::{Deserialize, Serialize};

use super::{Applied, ClaimBead};
use crate::query::ReadyFilter;
use crate::{Catalog, Context, Error, Lineage, Result};

/// Takes the best bead that is free, in one step, so that no two callers are handed the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClaimNext {
    /// Which beads will do; all that are ready when empty.
    pub filter: ReadyFilter,
    /// How long the claim lasts; the store's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

impl ClaimNext {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let offered = catalog.offer_to(&context.actor, &self.filter, context.now_ms)?;
        let next = match offered {
            Some(offered) => offered,
            None => self.choose(catalog, context)?.ok_or(Error::NothingReady)?,
        };
        let id = catalog.id_of(&next).to_string();
        ClaimBead { id, lease_ms: self.lease_ms, ..ClaimBead::default() }.apply(catalog, context)
    }

    /// The first in the order of `ready` that is nobody's. An epic with open children is no work, and a bead that was
    /// given to somebody else waits for them.
    fn choose(&self, catalog: &Catalog, context: &Context<'_>) -> Result<Option<Lineage>> {
        let free = |lineage: &Lineage| {
            catalog.bead(lineage).is_some_and(|bead| {
                bead.claim.holder(context.now_ms).is_none_or(|holder| *holder == context.actor)
            })
        };
        let ready = catalog.ready_in_order(&self.filter, context.now_ms)?;
        let mut found = ready.filter(|ready| ready.open_children.is_none() && free(&ready.lineage));
        Ok(found.next().map(|ready| ready.lineage))
    }
}
