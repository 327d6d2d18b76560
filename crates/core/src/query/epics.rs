use crate::{BeadType, Catalog, EdgeKind, Lineage, SharedBead, Status};

/// The progress of an epic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpicStatus {
    /// The epic.
    pub lineage: Lineage,
    /// The number of its children.
    pub total_children: usize,
    /// The number of closed children.
    pub closed_children: usize,
    /// Whether it has children and all of them are closed.
    pub eligible_for_close: bool,
}

impl Catalog {
    /// Returns the progress of all unfinished epics, by priority and age.
    pub fn epics(&self) -> Vec<EpicStatus> {
        let mut epics: Vec<_> = self.unfinished_epics().collect();
        epics.sort_by_key(|(_, bead)| bead.priority.value);
        epics.into_iter().map(|(lineage, _)| self.progress(lineage)).collect()
    }

    /// Returns the unfinished epics that have children of which all are closed, oldest first.
    pub(crate) fn finished_epics(&self) -> impl Iterator<Item = (&Lineage, &SharedBead)> {
        self.unfinished_epics().filter(|(lineage, _)| {
            let mut children = self.closed_children(lineage).peekable();
            children.peek().is_some() && children.all(|is_closed| is_closed)
        })
    }

    fn unfinished_epics(&self) -> impl Iterator<Item = (&Lineage, &SharedBead)> {
        self.by_age().filter(|(_, bead)| {
            bead.kind.value.kind == BeadType::Epic && bead.status.value.status != Status::Closed
        })
    }

    /// Returns for each child of a bead whether it is closed.
    fn closed_children<'a>(&'a self, lineage: &'a Lineage) -> impl Iterator<Item = bool> + 'a {
        let children = self.sources(lineage, EdgeKind::Parent).filter_map(|child| self.bead(child));
        let children = children.filter(|child| !child.is_deleted() || child.is_archived());
        children.map(|child| child.is_archived() || child.status.value.status == Status::Closed)
    }

    /// Counts the children of a bead, and how many of them are closed.
    pub fn progress(&self, lineage: &Lineage) -> EpicStatus {
        let closed: Vec<bool> = self.closed_children(lineage).collect();
        let closed_children = closed.iter().filter(|closed| **closed).count();
        EpicStatus {
            lineage: lineage.clone(),
            total_children: closed.len(),
            closed_children,
            eligible_for_close: !closed.is_empty() && closed_children == closed.len(),
        }
    }
}
