//! The archive (docs/adr/0083-archive.md): a second state with the content of archived beads. A bead in the
//! store is archived by a marker, which is a kind of deletion, and becomes hollow once the archive has its
//! content.

use std::collections::BTreeSet;

use crate::{Bead, Catalog, Conflict, Lineage, Patch, SharedBead, State, concurrent_writes_to};

impl State {
    /// Returns the archived beads, with or without their content.
    pub fn archived(&self) -> impl Iterator<Item = (&Lineage, &SharedBead)> {
        self.beads.iter().filter(|(_, bead)| bead.is_archived())
    }

    /// Returns whether content of archived beads is still here.
    pub fn has_unmoved_content(&self) -> bool {
        self.archived().any(|(_, bead)| !bead.is_hollow())
    }

    /// Returns the content of archived beads that is still here, as a state that the archive can join.
    pub fn unmoved_content(&self) -> Self {
        let mut content = Self::default();
        for (lineage, bead) in self.archived().filter(|(_, bead)| !bead.is_hollow()) {
            content.add_content(lineage, bead);
        }
        content
    }

    /// Adds the content of a bead, without its deletion.
    fn add_content(&mut self, lineage: &Lineage, bead: &Bead) {
        let content = Bead { deletion: None, ..bead.clone() };
        self.raise_format(Patch::from(&content).format_version());
        self.names.extend([lineage]);
        self.beads.insert(lineage.clone(), content.into());
    }

    /// Drops the content of archived beads that the archive has. Returns their number.
    pub fn hollow_out(&mut self, archive: &Self) -> usize {
        let covered =
            |lineage: &Lineage, bead: &Bead| archive.bead(lineage).is_some_and(|kept| contains(kept, bead));
        let moved: Vec<Lineage> = self
            .archived()
            .filter(|(lineage, bead)| !bead.is_hollow() && covered(lineage, bead))
            .map(|(lineage, _)| lineage.clone())
            .collect();
        for lineage in &moved {
            let deletion = self.beads.get(lineage).and_then(|bead| bead.deletion.clone());
            if let Some(deletion) = deletion {
                self.beads.insert(lineage.clone(), Bead::hollow(deletion).into());
            }
        }
        moved.len()
    }

    /// Gives a hollow bead its content back. It stays archived. Returns whether the archive has it.
    pub fn thaw(&mut self, lineage: &Lineage, archive: &Self) -> bool {
        let Some(content) = archive.bead(lineage).filter(|bead| !bead.is_hollow()) else { return false };
        if self.bead(lineage).is_some_and(SharedBead::is_hollow) {
            // This archive may be out of date.
            self.unhealed.insert(lineage.clone());
        }
        if let Some(bead) = self.beads.get_mut(lineage) {
            bead.make_mut().join(&Patch { deletion: None, ..Patch::from(content.as_ref()) });
        }
        true
    }

    /// Returns the beads that are hollow here and complete in the other state.
    pub fn hollow_against(&self, other: &Self) -> Vec<Lineage> {
        let hollow = self.archived().filter(|(_, bead)| bead.is_hollow()).map(|(lineage, _)| lineage);
        let complete = |lineage: &&Lineage| other.bead(lineage).is_some_and(|bead| !bead.is_hollow());
        hollow.filter(complete).cloned().collect()
    }

    /// Returns whether a bead is hollow here and complete in the other state.
    pub fn lacks_content_of(&self, other: &Self) -> bool {
        !self.hollow_against(other).is_empty()
    }

    /// Gives the content back to every bead that is hollow here and complete in the other state. Only then can
    /// their writes be compared. Returns the beads that have their content now.
    pub fn thaw_against(&mut self, other: &Self, archive: &Self) -> BTreeSet<Lineage> {
        let hollow = self.hollow_against(other).into_iter();
        hollow.filter(|lineage| self.thaw(lineage, archive)).collect()
    }

    /// Returns whether beads were joined with hollow ones, so that the archive may have more of them.
    pub fn is_unhealed(&self) -> bool {
        !self.unhealed.is_empty()
    }

    /// Returns the beads that were joined with hollow ones, so that the archive may have more of them.
    pub fn unhealed(&self) -> &BTreeSet<Lineage> {
        &self.unhealed
    }

    /// Adds beads that were joined with hollow ones before the store was opened.
    pub fn note_unhealed(&mut self, beads: impl IntoIterator<Item = Lineage>) {
        self.unhealed.extend(beads);
    }

    /// Forgets that beads may lack something that the archive has: they were joined with all of it.
    pub fn note_healed(&mut self, beads: &BTreeSet<Lineage>) {
        self.unhealed.retain(|lineage| !beads.contains(lineage));
    }

    /// Returns the values that lose when this state is healed, on either side. `known` is the archive as the
    /// writers here knew it.
    pub fn conflicts_when_healed(&self, archive: &Self, known: &Self) -> Vec<Conflict> {
        let base = |lineage: &Lineage| (lineage.clone(), known.bead(lineage).cloned());
        concurrent_writes_to(&self.unhealed.iter().map(base).collect(), self, archive)
    }

    /// Adds what the archive has of beads that were joined with hollow ones. A replica that never saw the last
    /// writes before a bead was archived may have changed the bead, so that it is live again: then only the
    /// archive has those writes.
    pub fn heal(&mut self, archive: &Self) {
        self.heal_for_now(archive);
        self.unhealed.clear();
    }

    /// Like [`heal`](Self::heal), with an archive that may be out of date, so that it has to be done again.
    pub fn heal_for_now(&mut self, archive: &Self) {
        for lineage in self.unhealed.clone() {
            if self.bead(&lineage).is_some_and(|bead| !bead.is_hollow()) {
                self.thaw(&lineage, archive);
            }
        }
    }

    /// Returns this state with its archived beads live and complete, as far as the archive has them, and the
    /// lineages of those beads. For queries about the archive only: nothing may be written on it.
    pub fn with_archive(&self, archive: &Self) -> (Self, Vec<Lineage>) {
        let mut whole = self.clone();
        let mut found = Vec::new();
        for lineage in self.archived().map(|(lineage, _)| lineage) {
            whole.thaw(lineage, archive);
            if let Some(bead) = whole.beads.get_mut(lineage).filter(|bead| !bead.is_hollow()) {
                bead.make_mut().deletion = None;
                found.push(lineage.clone());
            }
        }
        (whole, found)
    }
}

/// Returns whether the archive has everything about a bead.
fn contains(kept: &Bead, bead: &Bead) -> bool {
    let mut joined = kept.clone();
    joined.join(&Patch { deletion: None, ..Patch::from(bead) });
    joined == *kept
}

impl Catalog {
    /// Returns the archived beads, with or without their content.
    pub fn archived(&self) -> impl Iterator<Item = (&Lineage, &SharedBead)> {
        self.state().archived()
    }
}
