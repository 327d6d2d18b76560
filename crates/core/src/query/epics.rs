use crate::{BeadType, Catalog, EdgeKind, Lineage, Status};

/// How far an epic is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpicStatus {
    pub lineage: Lineage,
    pub total_children: usize,
    pub closed_children: usize,
    /// It has children and all of them are closed.
    pub eligible_for_close: bool,
}

impl Catalog {
    /// Unfinished epics, by priority, then oldest first.
    pub fn epics(&self) -> Vec<EpicStatus> {
        self.live()
            .filter(|(_, bead)| {
                bead.kind.value.kind == BeadType::Epic && bead.status.value.status != Status::Closed
            })
            .map(|(lineage, _)| {
                let children =
                    self.sources(lineage, EdgeKind::Parent).filter_map(|child| self.live_bead(child));
                let closed: Vec<bool> =
                    children.map(|child| child.status.value.status == Status::Closed).collect();
                let closed_children = closed.iter().filter(|closed| **closed).count();
                EpicStatus {
                    lineage: lineage.clone(),
                    total_children: closed.len(),
                    closed_children,
                    eligible_for_close: !closed.is_empty() && closed_children == closed.len(),
                }
            })
            .collect()
    }
}
