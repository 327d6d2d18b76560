//! Keeps older operations undoable when a newer operation on the same beads is undone.
//!
//! An undo writes the former values with a new mark, so the marks that older operations recorded would look
//! overwritten. They get the new mark, unless another writer came between the two operations.

use super::undo::{Overwritten, PriorState, Undo};
use crate::{Catalog, Field, Lineage, Mark};

impl Undo {
    /// Returns why the operation can never be undone, or `None` if it can.
    pub fn refusal(&self) -> Option<&'static str> {
        if self.lost {
            return Some(
                "it was an import, archived beads (bd restore brings them back), changed too much to be recorded, or \
                 others changed the same values since",
            );
        }
        if self.beads.values().any(Overwritten::writes) || !self.edges.is_empty() {
            return None;
        }
        let noted = self.beads.values().any(|bead| bead.notes > 0);
        Some(if noted {
            "notes cannot be removed; add another note that corrects it"
        } else {
            "it changed no bead"
        })
    }

    /// Returns whether the operation counts: a renewed lease does not.
    pub fn counts(&self) -> bool {
        self.refusal().is_none() || self.lost || self.beads.values().any(|bead| bead.notes > 0)
    }

    /// Gives up everything recorded, because other writers came in between.
    fn lose(&mut self) {
        *self = Self { lost: true, ..Self::default() };
    }
}

/// Finds the operations in `older` (oldest first) that another writer has overtaken, before `newer` is applied
/// to `catalog`. Returns their indexes.
pub fn overtaken(older: &[&Undo], newer: &Undo, catalog: &Catalog) -> Vec<usize> {
    let mut found = Vec::new();
    let newest = |has: &dyn Fn(&Undo) -> bool| older.iter().rposition(|undo| has(undo));
    for (lineage, new) in &newer.beads {
        let Some(bead) = catalog.bead(lineage) else { continue };
        let Some(last) = newest(&|undo| undo.beads.contains_key(lineage)) else { continue };
        if older[last].beads[lineage].last != bead.updated() {
            found.extend(creations(older, lineage));
        }
        for (field, _) in new.marks() {
            let mark = |undo: &&Undo| undo.beads.get(lineage)?.mark(field).cloned();
            let index = newest(&|undo| mark(&undo).is_some());
            found.extend(index.filter(|index| mark(&older[*index]).as_ref() != Some(bead.mark(field))));
        }
        if let Some(deletion) = &bead.deletion {
            let mark = |undo: &&Undo| undo.beads.get(lineage)?.deletion.clone();
            let index = newest(&|undo| mark(&undo).is_some());
            found.extend(index.filter(|index| mark(&older[*index]).as_ref() != Some(&deletion.mark)));
        }
    }
    for key in newer.edges.keys() {
        let Some(edge) = catalog.state().edge(key) else { continue };
        let index = newest(&|undo| undo.edges.contains_key(key));
        found.extend(index.filter(|index| older[*index].edges[key] != edge.changed));
    }
    found
}

/// Returns the indexes of operations that created or restored a bead. Undoing one deletes the bead, so no
/// other writer may have touched it since.
fn creations<'a>(older: &'a [&Undo], lineage: &'a Lineage) -> impl Iterator<Item = usize> + 'a {
    let is_creation = move |undo: &Undo| {
        undo.beads.get(lineage).is_some_and(|bead| !matches!(bead.prior, PriorState::Live))
    };
    older.iter().enumerate().filter(move |(_, undo)| is_creation(undo)).map(|(index, _)| index)
}

/// Marks operations as overtaken.
pub fn lose(older: &mut [&mut Undo], overtaken: &[usize]) {
    for index in overtaken {
        if let Some(undo) = older.get_mut(*index) {
            undo.lose();
        }
    }
}

/// Gives the newest operations in `older` (oldest first) the marks of `newer`, which restored what they wrote.
pub fn remark(older: &mut [&mut Undo], newer: &Undo) {
    for (lineage, new) in &newer.beads {
        if let Some(bead) = older.iter_mut().rev().find_map(|undo| undo.beads.get_mut(lineage)) {
            bead.last.clone_from(&new.last);
        }
        let mut beads = older.iter_mut().rev().filter_map(|undo| undo.beads.get_mut(lineage));
        if let (Some(mark), Some(old)) = (&new.deletion, beads.find_map(|bead| bead.deletion.as_mut())) {
            old.clone_from(mark);
        }
        for (field, mark) in new.marks() {
            let mut beads = older.iter_mut().rev().filter_map(|undo| undo.beads.get_mut(lineage));
            if let Some(old) = beads.find_map(|bead| bead.mark_mut(field)) {
                old.clone_from(mark);
            }
        }
    }
    for (key, mark) in &newer.edges {
        if let Some(old) = older.iter_mut().rev().find_map(|undo| undo.edges.get_mut(key)) {
            old.clone_from(mark);
        }
    }
}

impl Overwritten {
    /// Returns the fields that were written, with the claim as the field of the assignee.
    fn marks(&self) -> impl Iterator<Item = (Field, &Mark)> {
        let fields = self.fields.iter().map(|(field, old)| (*field, &old.mark));
        fields.chain(self.claim.as_ref().map(|old| (Field::Assignee, &old.mark)))
    }

    fn mark(&self, field: Field) -> Option<&Mark> {
        self.marks().find(|(name, _)| *name == field).map(|(_, mark)| mark)
    }

    fn mark_mut(&mut self, field: Field) -> Option<&mut Mark> {
        match field {
            Field::Assignee => self.claim.as_mut().map(|old| &mut old.mark),
            _ => self.fields.get_mut(&field).map(|old| &mut old.mark),
        }
    }
}
