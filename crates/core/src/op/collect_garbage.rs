use serde::{Deserialize, Serialize};

use super::Applied;
use crate::limits::MIN_TOMBSTONE_TTL_MS;
use crate::planted::{Bug, is_planted};
use crate::{Catalog, Context, Delta, Error, Floor, Result, Stamp};

/// Drops tombstones older than `ttl_ms` on every replica (§8.4), by raising the garbage collection floor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectGarbage {
    /// How long tombstones are kept, in milliseconds.
    pub ttl_ms: u64,
    /// When another replica last created a bead, by that replica's clock. The floor stays `ttl_ms` below this
    /// time too, so that a local clock that runs ahead drops nothing early. Absent if no other replica wrote
    /// to the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_foreign_ms: Option<u64>,
}

impl CollectGarbage {
    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        if self.ttl_ms < MIN_TOMBSTONE_TTL_MS {
            return Err(Error::invalid("tombstone TTL", format!("{} ms is less than 7 days", self.ttl_ms)));
        }
        let foreign_ms = self.newest_foreign_ms.filter(|_| !is_planted(Bug::FloorFromWallClock));
        let now_ms = foreign_ms.map_or(context.now_ms, |foreign| foreign.min(context.now_ms));
        let floor = Stamp::decode(now_ms.saturating_sub(self.ttl_ms), 0)?;
        // Do not raise the floor if that drops nothing: replicas would exchange commits for no benefit.
        let before = catalog.state().gc_floor();
        let covers = |at: Stamp| at < floor && at >= before.stamp;
        let beads = catalog
            .deleted()
            .filter_map(|(_, bead)| bead.deletion.as_ref())
            .any(|d| !d.archived && covers(d.mark.at()));
        let edges = || catalog.state().edges().values().any(|edge| edge.deleted && covers(edge.changed.at()));
        if !beads && !edges() {
            return Ok(Applied::default());
        }
        Ok(Applied {
            delta: Delta { gc_floor: Some(Floor { stamp: floor, ..before }), ..Delta::default() },
            ..Applied::default()
        })
    }
}
