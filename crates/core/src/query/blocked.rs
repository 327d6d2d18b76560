use super::Filter;
use crate::{Catalog, Lineage, Result, Status};

/// A blocked bead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The blocked bead.
    pub lineage: Lineage,
    /// Its open blockers.
    pub by: Vec<Lineage>,
}

impl Catalog {
    /// Returns the unfinished beads that have open blockers or were set to `blocked` manually, by priority
    /// and age.
    pub fn blocked(&self, filter: &Filter) -> Result<Vec<Blocked>> {
        let prepared = filter.prepare(self)?;
        Ok(self
            .live()
            .filter(|(_, bead)| bead.status.value.status != Status::Closed)
            .filter(|(lineage, bead)| prepared.matches(self, lineage, bead))
            .map(|(lineage, _)| Blocked {
                lineage: lineage.clone(),
                by: self.open_blockers(lineage).cloned().collect(),
            })
            .filter(|blocked| {
                let by_hand = |bead: &crate::SharedBead| bead.status.value.shown() == "blocked";
                !blocked.by.is_empty() || self.bead(&blocked.lineage).is_some_and(by_hand)
            })
            .take(filter.limit.unwrap_or(usize::MAX))
            .collect())
    }
}
