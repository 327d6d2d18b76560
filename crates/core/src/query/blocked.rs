use super::Filter;
use crate::{Catalog, Lineage, Result, Status};

/// A bead and the unfinished beads it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    pub lineage: Lineage,
    pub by: Vec<Lineage>,
}

impl Catalog {
    /// Unfinished beads that wait for others, or were set to `blocked` by hand, by priority, then oldest first.
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
                let by_hand = |bead: &std::sync::Arc<crate::Bead>| bead.status.value.shown() == "blocked";
                !blocked.by.is_empty() || self.bead(&blocked.lineage).is_some_and(by_hand)
            })
            .take(filter.limit.unwrap_or(usize::MAX))
            .collect())
    }
}
