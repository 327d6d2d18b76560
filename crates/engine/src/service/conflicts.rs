use beads_core::{Catalog, Conflict, ConflictId, Lineage};

use super::Service;
use crate::failure::{Code, Failure};
use crate::render::{Answer, ConflictAnswer};

impl Service {
    /// Concurrent writes that lost, and ids that were lost to older beads. Dismissed ones only when asked for.
    pub(super) fn conflicts(&self, all: bool) -> Answer {
        let catalog = self.replica.catalog();
        let conflicts = catalog.state().conflicts().iter();
        let shown = conflicts.filter(|(_, conflict)| all || conflict.dismissed.is_none());
        let mut answers: Vec<_> = shown.map(|(id, conflict)| written(catalog, id, conflict)).collect();
        let vacated = catalog.state().names().vacated();
        let lost_ids: std::collections::BTreeSet<&Lineage> = vacated.values().flatten().collect();
        answers.extend(lost_ids.into_iter().map(|lineage| remapped(catalog, lineage)));
        Answer::Conflicts(answers)
    }

    pub(super) fn conflict(&self, id: &str) -> Result<Answer, Failure> {
        let id: ConflictId = id.parse()?;
        let catalog = self.replica.catalog();
        let conflict = catalog.state().conflicts().get(&id);
        let conflict = conflict.ok_or_else(|| Failure::new(Code::NotFound, format!("there is no {id}")))?;
        Ok(Answer::Conflict(Box::new(written(catalog, &id, conflict))))
    }
}

fn written(catalog: &Catalog, id: &ConflictId, conflict: &Conflict) -> ConflictAnswer {
    let bead = catalog.bead(&conflict.bead);
    ConflictAnswer {
        id: id.to_string(),
        kind: "concurrent_write",
        bead: catalog.id_of(&conflict.bead).clone(),
        title: bead.map(|bead| bead.title.value.clone()),
        field: Some(conflict.field.name()),
        value: conflict.value.clone(),
        current: bead.map(|bead| bead.value_json(conflict.field)).unwrap_or_default(),
        at: conflict.lost.at(),
        by: conflict.lost.by().clone(),
        won_at: Some(conflict.won.at()),
        won_by: Some(conflict.won.by().clone()),
        dismissed: conflict.dismissed.is_some(),
        born: None,
    }
}

/// A bead that lives under another id than it was born with, reported to its author in the same place.
fn remapped(catalog: &Catalog, lineage: &Lineage) -> ConflictAnswer {
    let id = catalog.id_of(lineage);
    ConflictAnswer {
        id: format!("remapped:{id}"),
        kind: "remapped",
        bead: id.clone(),
        title: catalog.bead(lineage).map(|bead| bead.title.value.clone()),
        field: None,
        value: lineage.birth_id().as_str().into(),
        current: id.as_str().into(),
        at: lineage.at(),
        by: lineage.by().clone(),
        won_at: None,
        won_by: None,
        dismissed: false,
        born: Some(lineage.birth_id().clone()),
    }
}
