use serde::{Deserialize, Serialize};

use super::Applied;
use crate::{Catalog, Context, Delta, Lineage, Patch, Result, SharedBead, Status, Timestamp};

/// Archives every bead that was closed before a time. The content moves to the archive with the next sync.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    /// Beads that were closed before this time are archived.
    pub closed_before: Timestamp,
}

impl Archive {
    pub(super) fn apply(&self, catalog: &Catalog, _: &mut Context<'_>) -> Result<Applied> {
        let marker = |bead: &SharedBead| Patch { deletion: Some(bead.marker()), ..Patch::default() };
        let beads = self.beads(catalog).map(|(lineage, bead)| (lineage.clone(), marker(bead))).collect();
        Ok(Applied { delta: Delta { beads, ..Delta::default() }, ..Applied::default() })
    }

    /// Returns the beads that would be archived: closed before the time, and without an open conflict, which
    /// a person still has to review.
    fn beads<'a>(&'a self, catalog: &'a Catalog) -> impl Iterator<Item = (&'a Lineage, &'a SharedBead)> {
        let conflicts = catalog.state().conflicts().values();
        let disputed: std::collections::BTreeSet<_> = conflicts
            .filter(|conflict| conflict.dismissed.is_none())
            .map(|conflict| &conflict.bead)
            .collect();
        catalog.work().filter(move |(lineage, bead)| {
            bead.status() == Status::Closed
                && bead.status.mark.at().ms() < self.closed_before.ms()
                && !disputed.contains(lineage)
        })
    }
}
