use crate::{BeadType, Catalog, EdgeKind, Lineage, Status};

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
        self.live()
            .filter(|(_, bead)| {
                bead.kind.value.kind == BeadType::Epic && bead.status.value.status != Status::Closed
            })
            .map(|(lineage, _)| self.progress(lineage))
            .collect()
    }

    /// Counts the children of a bead, and how many of them are closed.
    pub fn progress(&self, lineage: &Lineage) -> EpicStatus {
        let children = self.sources(lineage, EdgeKind::Parent).filter_map(|child| self.bead(child));
        let children = children.filter(|child| !child.is_deleted() || child.is_archived());
        let closed: Vec<bool> = children
            .map(|child| child.is_archived() || child.status.value.status == Status::Closed)
            .collect();
        let closed_children = closed.iter().filter(|closed| **closed).count();
        EpicStatus {
            lineage: lineage.clone(),
            total_children: closed.len(),
            closed_children,
            eligible_for_close: !closed.is_empty() && closed_children == closed.len(),
        }
    }
}
