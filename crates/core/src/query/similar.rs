use crate::title_index::{TitleIndex, look_through};
use crate::{Catalog, Lineage, Status, Title};

/// More than this is no hint any more.
const MAX_SIMILAR: usize = 3;

impl Catalog {
    /// Work with nearly this title, a few at most: unfinished ones first, then the oldest.
    pub fn similar(&self, title: &Title, except: Option<&Lineage>) -> Vec<Lineage> {
        let found = match self.titles() {
            Some(index) => index.similar(title),
            None => look_through(title, self.live().map(|(lineage, bead)| (lineage, &bead.title.value))),
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
        self.titles.get_or_make(|| {
            let mut index = TitleIndex::default();
            for (lineage, bead) in self.live() {
                index.set(lineage, Some(&bead.title.value));
            }
            index
        })
    }
}
