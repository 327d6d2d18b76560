use super::reach::reach;
use crate::question::Question;
use crate::{Catalog, EdgeKind, Lineage, Status};

impl Catalog {
    /// Returns how many unfinished beads wait for this one, directly or through others.
    pub fn waiting_behind(&self, lineage: &Lineage) -> usize {
        let unfinished = |other: &&Lineage| self.is_unfinished(other);
        let behind = reach([lineage], |bead| self.sources(bead, EdgeKind::Blocks).filter(unfinished));
        behind.len() - 1
    }

    /// Returns every open question on unfinished beads, oldest first.
    pub fn open_questions(&self) -> Vec<(&Lineage, Question)> {
        let unfinished = self.by_age().filter(|(_, bead)| bead.status() != Status::Closed);
        let mut found: Vec<(&Lineage, Question)> = unfinished
            .flat_map(|(lineage, bead)| {
                bead.open_questions().into_iter().map(move |question| (lineage, question))
            })
            .collect();
        found.sort_by(|(_, a), (_, b)| a.note.order().cmp(&b.note.order()));
        found
    }
}
