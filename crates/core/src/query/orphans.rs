use crate::{BeadId, Catalog, EdgeKey, EdgeKind, Endpoint};

/// A dependency from or to a bead that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// The bead that depends on the other.
    pub from: BeadId,
    /// The bead it depends on.
    pub to: BeadId,
    /// The kind of dependency.
    pub kind: EdgeKind,
    /// Whether the missing bead was deleted. Otherwise this store has never had a bead with its id.
    pub deleted: bool,
}

impl Catalog {
    /// Returns the dependencies from or to beads that do not exist. They block nothing.
    pub fn orphans(&self) -> Vec<Orphan> {
        let present = self.state().edges().iter().filter(|(_, edge)| !edge.deleted);
        present.filter_map(|(key, _)| self.orphan(key)).collect()
    }

    fn orphan(&self, key: &EdgeKey) -> Option<Orphan> {
        let ends = [&key.from, &key.to];
        let bare = ends.iter().any(|end| end.lineage().is_none());
        let gone = |end: &&Endpoint| end.lineage().is_some_and(|lineage| self.is_gone(lineage));
        (bare || ends.iter().any(gone)).then(|| Orphan {
            from: self.name_of(&key.from),
            to: self.name_of(&key.to),
            kind: key.kind,
            deleted: !bare,
        })
    }
}
