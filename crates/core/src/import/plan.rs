//! Computes what the imported lines add to a store.

use std::collections::{BTreeMap, BTreeSet};

use super::deletion::{Deleted, is_placeholder, placeholder};
use super::dependency::Dependency;
use super::ledger::{Decision, Ledger, Place};
use super::{Draft, Import, Summary, Verdict, is_imported, unknown_actor};
use crate::parts::in_parts;
use crate::{
    Bead, BeadId, Catalog, Claim, Delta, Edge, EdgeKey, Lineage, Mark, Patch, Status, Timestamp, size,
};

/// What an import adds, and its report.
#[derive(Debug)]
pub struct Plan {
    /// The changes to the store.
    pub delta: Delta,
    /// Claims that need a lease. Only a store with a clock can grant one.
    pub leases: Vec<(Lineage, Claim)>,
    /// The counts of all decisions.
    pub summary: Summary,
    /// All decisions, in no particular order.
    pub decisions: Vec<Decision>,
}

/// A bead of the file, and the first line about it.
struct Incoming {
    bead: Bead,
    place: Place,
    /// Whether it needs a lease, because its tracker has none.
    lacks_lease: bool,
}

struct Planner<'a> {
    catalog: &'a Catalog,
    ledger: Ledger,
    /// The bead that holds each id in the file: the oldest one, if there are several.
    holders: BTreeMap<BeadId, Lineage>,
    beads: BTreeMap<Lineage, Incoming>,
    edges: Vec<(Place, Lineage, Dependency)>,
    delta: Delta,
    leases: Vec<(Lineage, Claim)>,
}

impl Import {
    /// Compares all lines with the catalog and returns what they add. The catalog does not change.
    pub fn plan(mut self, catalog: &Catalog) -> Plan {
        let mut kept = BTreeSet::new();
        if !self.edges.is_empty() || !self.notes.is_empty() || !self.deletions.by_lineage.is_empty() {
            let by_id = self.lines_by_id();
            self.attach_edges(&by_id);
            self.attach_notes(&by_id);
            kept = self.attach_lost_births(&by_id);
            self.drafts.iter_mut().for_each(|(_, draft)| draft.mark_merged_edges());
        }
        let mut planner = Planner {
            catalog,
            ledger: self.ledger,
            holders: BTreeMap::new(),
            beads: BTreeMap::new(),
            edges: Vec::new(),
            delta: Delta::default(),
            leases: Vec::new(),
        };
        for (place, id) in &self.deletions.repeated {
            planner.ledger.decide(place, Some(id), Verdict::Repeated);
        }
        planner.take_beads(self.drafts);
        for (lineage, deleted) in self.deletions.by_lineage {
            planner.take_lost_birth(&lineage, &deleted, kept.contains(&lineage));
        }
        for (id, deleted) in self.deletions.by_id {
            planner.take_deletion(&id, deleted);
        }
        planner.compare_beads();
        planner.compare_edges();
        let Ledger { summary, decisions } = planner.ledger;
        Plan { delta: planner.delta, leases: planner.leases, summary, decisions }
    }

    /// Adds the edges from separate files to their beads.
    fn attach_edges(&mut self, by_id: &BTreeMap<BeadId, Vec<usize>>) {
        for (place, from, edge) in std::mem::take(&mut self.edges) {
            match by_id.get(&from).and_then(|lines| lines.first()) {
                Some(index) => self.drafts[*index].1.attach_edge(edge),
                None if edge.edge.deleted => {}
                None => {
                    let reason = format!("{from} -> {} ({}): no line has {from}", edge.to, edge.kind);
                    self.ledger.decide_with_reason(&place, Some(&from), Verdict::EdgeSkipped, &reason);
                }
            }
        }
    }

    /// Adds the notes from separate files to their beads.
    fn attach_notes(&mut self, by_id: &BTreeMap<BeadId, Vec<usize>>) {
        for (place, note) in std::mem::take(&mut self.notes) {
            let lines = by_id.get(&note.id);
            let is_meant = |index: &usize| {
                note.created.as_ref().is_none_or(|created| self.drafts[*index].1.is_born(created))
            };
            match lines.and_then(|lines| lines.iter().copied().find(is_meant)) {
                Some(index) => self.drafts[index].1.attach_note(note.comment),
                None => {
                    let lost = "its bead lost the id to another one and is not in the file";
                    let reason = if lines.is_some() { lost } else { "no line has its bead" };
                    self.ledger.decide_with_reason(&place, Some(&note.id), Verdict::NoteSkipped, reason);
                }
            }
        }
    }

    /// Keeps deletions of beads that lost their id with the bead that holds the id, if the file has it.
    /// Returns the beads whose deletions are kept.
    fn attach_lost_births(&mut self, by_id: &BTreeMap<BeadId, Vec<usize>>) -> BTreeSet<Lineage> {
        let mut kept = BTreeSet::new();
        for (lineage, deleted) in &self.deletions.by_lineage {
            let Some(lines) = by_id.get(lineage.birth_id()) else { continue };
            let born = Mark::new(lineage.at(), lineage.by().clone());
            if lines.iter().any(|index| self.drafts[*index].1.is_born(&born)) {
                continue;
            }
            if let Some(holder) = lines.first() {
                self.drafts[*holder].1.keep_lost_birth(lineage, &deleted.deletion);
                kept.insert(lineage.clone());
            }
        }
        kept
    }

    /// Returns the indexes of the drafts of each id.
    fn lines_by_id(&self) -> BTreeMap<BeadId, Vec<usize>> {
        let mut by_id: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (index, (_, draft)) in self.drafts.iter().enumerate() {
            by_id.entry(draft.id().clone()).or_default().push(index);
        }
        by_id
    }
}

impl Planner<'_> {
    fn take_beads(&mut self, drafts: Vec<(Place, Draft)>) {
        let lineages: Vec<_> = drafts.iter().map(|(_, draft)| self.resolve_lineage(draft)).collect();
        for ((_, draft), lineage) in drafts.iter().zip(&lineages) {
            let holder = self.holders.entry(draft.id().clone()).or_insert_with(|| lineage.clone());
            if lineage < holder {
                *holder = lineage.clone();
            }
        }
        let drafts: Vec<_> = drafts.into_iter().zip(lineages).collect();
        let (catalog, holders) = (self.catalog, &self.holders);
        let parts = in_parts(&drafts, |drafts| {
            let built = drafts.iter().map(|((_, draft), lineage)| {
                draft.bead(lineage, catalog.bead(lineage).map(AsRef::as_ref), |id| holders.contains_key(id))
            });
            built.collect::<Vec<_>>()
        });
        for (((place, draft), lineage), built) in drafts.into_iter().zip(parts.into_iter().flatten()) {
            match built {
                Ok(mut bead) => {
                    self.inherit_deletion(draft.id(), &lineage, &mut bead);
                    let edges = draft.dependencies.iter();
                    self.edges.extend(edges.map(|edge| (place.clone(), lineage.clone(), edge.clone())));
                    let incoming = Incoming { bead, place, lacks_lease: draft.lacks_lease() };
                    self.add(draft.id(), lineage, incoming);
                }
                Err(reason) => {
                    self.ledger.decide_with_reason(&place, Some(draft.id()), Verdict::Refused, &reason);
                }
            }
        }
    }

    fn add(&mut self, id: &BeadId, lineage: Lineage, incoming: Incoming) {
        match self.beads.get_mut(&lineage) {
            Some(first) => {
                first.bead.join(&Patch::from(&incoming.bead));
                first.lacks_lease &= incoming.lacks_lease;
                self.ledger.decide(&incoming.place, Some(id), Verdict::Repeated);
            }
            None => {
                self.beads.insert(lineage, incoming);
            }
        }
    }

    /// Returns the bead that a line is about. A file has creation times in milliseconds only, and old files
    /// have no creator. So a bead in the store with the same id that was created in the same millisecond is
    /// the same bead.
    fn resolve_lineage(&self, draft: &Draft) -> Lineage {
        let from_file = draft.lineage();
        if self.catalog.bead(&from_file).is_some() {
            return from_file;
        }
        let same = |known: &&Lineage| {
            let unknown = unknown_actor();
            known.birth_id() == from_file.birth_id()
                && known.at().ms() == from_file.at().ms()
                && (known.by() == from_file.by() || *known.by() == unknown || *from_file.by() == unknown)
        };
        let names = self.catalog.state().names();
        names.holder(from_file.birth_id().as_str()).filter(same).cloned().unwrap_or(from_file)
    }

    /// Applies a deletion to the bead if it was imported before the bead itself.
    fn inherit_deletion(&self, id: &BeadId, lineage: &Lineage, bead: &mut Bead) {
        let holder = self.catalog.state().names().holder(id.as_str()).filter(|holder| *holder != lineage);
        let Some(placeholder) = holder.and_then(|holder| Some((holder, self.catalog.bead(holder)?))) else {
            return;
        };
        if is_placeholder(placeholder.0, placeholder.1) {
            bead.join(&Patch { deletion: placeholder.1.deletion.clone(), ..Patch::default() });
        }
    }

    /// Deletes the bead that lost its id, if it is known. The bead that holds the id is not affected.
    fn take_lost_birth(&mut self, lineage: &Lineage, deleted: &Deleted, is_kept: bool) {
        if self.apply_deletion(lineage, deleted) {
            return;
        }
        let (id, time) = (lineage.birth_id(), Timestamp::from(lineage.at()));
        let lost = format!("the bead that {} made at {time} lost the id {id} and is not here", lineage.by());
        let (verdict, reason) = if is_kept {
            (Verdict::Collision, format!("{lost}; its deletion is kept with the bead that holds the id"))
        } else {
            (Verdict::CollisionSkipped, format!("{lost}, and the file has no bead that holds the id"))
        };
        self.ledger.decide_with_reason(&deleted.place, Some(id), verdict, &reason);
    }

    fn take_deletion(&mut self, id: &BeadId, deleted: Deleted) {
        let here = || self.catalog.state().names().holder(id.as_str());
        let target = self.holders.get(id).filter(|lineage| self.beads.contains_key(*lineage)).or_else(here);
        if let Some(lineage) = target.cloned()
            && self.apply_deletion(&lineage, &deleted)
        {
            return;
        }
        match placeholder(id, &deleted) {
            Ok((lineage, bead)) => {
                // Edges of the file may point to it.
                self.holders.entry(id.clone()).or_insert_with(|| lineage.clone());
                let incoming = Incoming { bead, place: deleted.place, lacks_lease: false };
                self.add(id, lineage, incoming);
            }
            Err(reason) => {
                self.ledger.decide_with_reason(&deleted.place, Some(id), Verdict::Refused, &reason);
            }
        }
    }

    /// Deletes a bead of the file or of the store. Returns false if there is no such bead.
    fn apply_deletion(&mut self, lineage: &Lineage, deleted: &Deleted) -> bool {
        let patch = Patch { deletion: Some(deleted.deletion.clone()), ..Patch::default() };
        let id = lineage.birth_id().clone();
        if let Some(incoming) = self.beads.get_mut(lineage) {
            incoming.bead.join(&patch);
            self.ledger.decide(&deleted.place, Some(&id), Verdict::Repeated);
            return true;
        }
        let Some(known) = self.catalog.bead(lineage) else { return false };
        if known.is_hollow() {
            let reason = "it is archived; bd restore brings it back, and then it can be deleted";
            self.ledger.decide_with_reason(&deleted.place, Some(&id), Verdict::Refused, reason);
            return true;
        }
        let mut bead = known.as_ref().clone();
        bead.join(&patch);
        let incoming = Incoming { bead, place: deleted.place.clone(), lacks_lease: false };
        self.add(&id, lineage.clone(), incoming);
        true
    }

    /// Adds new and changed beads to the delta.
    fn compare_beads(&mut self) {
        for (lineage, Incoming { bead, place, lacks_lease }) in std::mem::take(&mut self.beads) {
            let known = self.catalog.bead(&lineage);
            let joined = known.map(|known| {
                let mut joined = known.as_ref().clone();
                joined.join(&Patch::from(&bead));
                joined
            });
            let joined = joined.as_ref().unwrap_or(&bead);
            let id = self.catalog.id_of(&lineage).clone();
            let is_new = known.is_none_or(|known| known.as_ref() != joined);
            if is_new && let Err(error) = size::check_bead(&id, &lineage, joined) {
                self.ledger.decide_with_reason(&place, Some(&id), Verdict::Refused, &error.to_string());
                continue;
            }
            let leased = self.lease_claim(&lineage, joined, &place, lacks_lease);
            let was_live = known.is_none_or(|known| known.deletion.is_none());
            let verdict = match known {
                _ if !is_new && !leased => Verdict::Unchanged,
                _ if joined.deletion.is_some() && was_live => Verdict::Deleted,
                None => Verdict::Created,
                Some(_) => Verdict::Updated,
            };
            self.ledger.decide(&place, Some(&id), verdict);
            if is_new {
                let notes_before = known.map_or(0, |known| known.notes.len());
                self.ledger.summary.notes += joined.notes.len() - notes_before;
                self.delta.beads.insert(lineage, Patch::from(bead));
            }
        }
    }

    /// Requests a lease for the holder of a bead in progress, because without one the bead never becomes
    /// ready again. A bead without a holder is reported as stuck.
    fn lease_claim(&mut self, lineage: &Lineage, bead: &Bead, place: &Place, lacks_lease: bool) -> bool {
        if bead.deletion.is_some() || bead.status.value.status != Status::InProgress {
            return false;
        }
        let id = self.catalog.id_of(lineage).clone();
        if bead.claim.assignee.is_none() {
            self.ledger.decide(place, Some(&id), Verdict::Stuck);
            return false;
        }
        let needed = lacks_lease && bead.claim.expires.is_none() && is_imported(bead.claim.mark.at());
        if needed {
            self.leases.push((lineage.clone(), bead.claim.clone()));
            self.ledger.decide(place, Some(&id), Verdict::Leased);
        }
        needed
    }

    fn compare_edges(&mut self) {
        for (place, from, edge) in std::mem::take(&mut self.edges) {
            if !self.is_known(&from) {
                continue; // its line was refused
            }
            let id = self.catalog.id_of(&from).clone();
            let end = self.holders.get(&edge.to).filter(|lineage| self.is_known(lineage));
            let end = end.or_else(|| self.catalog.state().names().holder(edge.to.as_str()));
            let Some(to) = end.filter(|to| **to != from).cloned() else {
                if !edge.edge.deleted {
                    let why = if edge.to == id { "it leads to itself" } else { "no bead has that id" };
                    let reason = format!("{id} -> {} ({}): {why}", edge.to, edge.kind);
                    self.ledger.summary.dangling += 1;
                    self.ledger.decide_with_reason(&place, Some(&id), Verdict::EdgeSkipped, &reason);
                }
                continue;
            };
            let key = EdgeKey::new(&from, &to, edge.kind);
            let mut joined: Option<Edge> = self.delta.edges.get(&key).cloned();
            joined = joined.or_else(|| self.catalog.state().edge(&key).cloned());
            let before = joined.clone();
            match &mut joined {
                Some(known) => known.join(&edge.edge),
                None => joined = Some(edge.edge.clone()),
            }
            let is_new = match joined {
                Some(joined) if Some(&joined) != before.as_ref() => {
                    self.delta.edges.insert(key, joined).is_none()
                }
                _ => false,
            };
            let verdict = if is_new { Verdict::EdgeMade } else { Verdict::EdgeUnchanged };
            self.ledger.decide(&place, Some(&id), verdict);
        }
    }

    fn is_known(&self, lineage: &Lineage) -> bool {
        self.delta.beads.contains_key(lineage) || self.catalog.bead(lineage).is_some()
    }
}
