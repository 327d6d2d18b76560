use crate::{BeadId, Catalog, EdgeKey, EdgeKind, Endpoint};

/// A present edge with an end that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    pub from: BeadId,
    pub to: BeadId,
    pub kind: EdgeKind,
    /// An end was deleted. Otherwise no bead ever held its id here.
    pub deleted: bool,
}

impl Catalog {
    /// Edges that lead from or to nowhere. They block nothing.
    pub fn orphans(&self) -> Vec<Orphan> {
        let present = self.state().edges().iter().filter(|(_, edge)| !edge.deleted);
        present.filter_map(|(key, _)| self.orphan(key)).collect()
    }

    fn orphan(&self, key: &EdgeKey) -> Option<Orphan> {
        let ends = [&key.from, &key.to];
        let bare = ends.iter().any(|end| end.lineage().is_none());
        let gone = |end: &&Endpoint| end.lineage().is_some_and(|lineage| self.live_bead(lineage).is_none());
        (bare || ends.iter().any(gone)).then(|| Orphan {
            from: self.name_of(&key.from),
            to: self.name_of(&key.to),
            kind: key.kind,
            deleted: !bare,
        })
    }
}
