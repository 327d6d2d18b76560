use crate::title_index::{TitleIndex, scan_titles};
use crate::{Catalog, Lineage, Status, Title};

/// The most similar beads to suggest.
const MAX_SIMILAR: usize = 3;

impl Catalog {
    /// Returns a few beads with a similar title, unfinished ones first.
    pub fn similar(&self, title: &Title, except: Option<&Lineage>) -> Vec<Lineage> {
        let found = match self.titles() {
            Some(index) => index.similar(title),
            None => scan_titles(title, self.live().map(|(lineage, bead)| (lineage, bead.title()))),
        };
        let is_work = |lineage: &Lineage| self.bead(lineage).is_some_and(|bead| !bead.is_memory());
        let others = found.into_iter().filter(|lineage| Some(*lineage) != except && is_work(lineage));
        let mut found: Vec<_> = others.collect();
        let closed = |lineage: &Lineage| {
            self.bead(lineage).is_some_and(|bead| bead.status.value.status == Status::Closed)
        };
        found.sort_by_key(|lineage| closed(lineage));
        found.into_iter().take(MAX_SIMILAR).cloned().collect()
    }

    fn titles(&self) -> Option<&TitleIndex> {
        self.titles.get_or_build(|| {
            let mut index = TitleIndex::default();
            for (lineage, bead) in self.live() {
                index.set(lineage, Some(&bead.title()));
            }
            index
        })
    }
}
