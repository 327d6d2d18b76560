//! From lines to what they add to a store.

use std::collections::{BTreeMap, BTreeSet};

use super::deletion::{is_stand_in, stand_in};
use super::dependency::Dependency;
use super::{Draft, Import, Place, Summary, unknown_actor};
use crate::parts::in_parts;
use crate::{Bead, BeadId, Catalog, Delta, Edge, EdgeKey, Lineage, Patch, size};

/// What an import adds, and what to tell about it.
#[derive(Debug)]
pub struct Plan {
    pub delta: Delta,
    pub summary: Summary,
}

/// A bead as the file has it, and the line it was first read from.
struct Incoming {
    bead: Bead,
    place: Place,
}

struct Planner<'a> {
    catalog: &'a Catalog,
    summary: Summary,
    /// Who holds an id in the file: of several, the oldest.
    holders: BTreeMap<BeadId, Lineage>,
    beads: BTreeMap<Lineage, Incoming>,
    edges: Vec<(Lineage, Dependency)>,
    delta: Delta,
}

impl Import {
    /// Compares everything read with what is here. Nothing is changed.
    pub fn plan(mut self, catalog: &Catalog) -> Plan {
        let drafts = self.drafts_with_what_belongs_to_them();
        let mut planner = Planner {
            catalog,
            summary: self.summary,
            holders: BTreeMap::new(),
            beads: BTreeMap::new(),
            edges: Vec::new(),
            delta: Delta::default(),
        };
        planner.summary.repeated += self.deletions.repeated;
        planner.take_beads(drafts);
        for (id, (deletion, first, place)) in self.deletions.by_id {
            planner.take_deletion(&id, &deletion, first, place);
        }
        planner.compare_beads();
        planner.compare_edges();
        Plan { delta: planner.delta, summary: planner.summary }
    }

    /// Edges and notes of files of their own join their beads.
    fn drafts_with_what_belongs_to_them(&mut self) -> Vec<(Place, Draft)> {
        let mut drafts = std::mem::take(&mut self.drafts);
        if self.edges.is_empty() && self.notes.is_empty() {
            return drafts;
        }
        let mut by_id: BTreeMap<BeadId, usize> = BTreeMap::new();
        for (index, (_, draft)) in drafts.iter().enumerate() {
            by_id.entry(draft.id().clone()).or_insert(index);
        }
        let mut attached = BTreeSet::new();
        let mut lost = Vec::new();
        for (place, from, edge) in std::mem::take(&mut self.edges) {
            match by_id.get(&from) {
                Some(index) => {
                    attached.insert((place.file, place.line));
                    drafts[*index].1.attach_edge(edge);
                }
                None => lost.push((place, from)),
            }
        }
        for (place, id, comment) in std::mem::take(&mut self.notes) {
            match by_id.get(&id) {
                Some(index) => {
                    attached.insert((place.file, place.line));
                    drafts[*index].1.comments.push(comment);
                }
                None => lost.push((place, id)),
            }
        }
        drafts.iter_mut().for_each(|(_, draft)| draft.mark_merged_edges());
        self.summary.attached = attached.len();
        for (place, id) in lost {
            self.summary.skip(&place.file, place.line, Some(id), "no line has its bead");
        }
        drafts
    }
}

impl Planner<'_> {
    fn take_beads(&mut self, drafts: Vec<(Place, Draft)>) {
        let lineages: Vec<_> = drafts.iter().map(|(_, draft)| self.lineage_here(draft)).collect();
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
                    self.edges.extend(draft.dependencies.iter().map(|edge| (lineage.clone(), edge.clone())));
                    self.add(lineage, bead, place);
                }
                Err(reason) => self.summary.skip(&place.file, place.line, Some(draft.id().clone()), &reason),
            }
        }
    }

    fn add(&mut self, lineage: Lineage, bead: Bead, place: Place) {
        match self.beads.get_mut(&lineage) {
            Some(first) => {
                first.bead.join(&Patch::from(&bead));
                self.summary.repeated += 1;
            }
            None => {
                self.beads.insert(lineage, Incoming { bead, place });
            }
        }
    }

    /// The bead that a line is about. A file tells births in milliseconds, and old ones not by whom; a bead that is here
    /// and was born under that id in that millisecond is meant.
    fn lineage_here(&self, draft: &Draft) -> Lineage {
        let told = draft.lineage();
        if self.catalog.bead(&told).is_some() {
            return told;
        }
        let same = |known: &&Lineage| {
            let unknown = unknown_actor();
            known.birth_id() == told.birth_id()
                && known.at().ms() == told.at().ms()
                && (known.by() == told.by() || *known.by() == unknown || *told.by() == unknown)
        };
        let names = self.catalog.state().names();
        names.holder(told.birth_id().as_str()).filter(same).cloned().unwrap_or(told)
    }

    /// A deletion that was known before its bead holds for the bead.
    fn inherit_deletion(&self, id: &BeadId, lineage: &Lineage, bead: &mut Bead) {
        let holder = self.catalog.state().names().holder(id.as_str()).filter(|holder| *holder != lineage);
        let Some(stand_in) = holder.and_then(|holder| Some((holder, self.catalog.bead(holder)?))) else {
            return;
        };
        if is_stand_in(stand_in.0, stand_in.1) {
            bead.join(&Patch { deletion: stand_in.1.deletion.clone(), ..Patch::default() });
        }
    }

    fn take_deletion(&mut self, id: &BeadId, deletion: &crate::Deletion, first: crate::Stamp, place: Place) {
        let here = || self.catalog.state().names().holder(id.as_str()).cloned();
        let patch = Patch { deletion: Some(deletion.clone()), ..Patch::default() };
        let told =
            self.holders.get(id).cloned().filter(|lineage| self.beads.contains_key(lineage)).or_else(here);
        let (lineage, bead) = match told {
            Some(lineage) => match (self.beads.get_mut(&lineage), self.catalog.bead(&lineage)) {
                (Some(incoming), _) => {
                    incoming.bead.join(&patch);
                    self.summary.repeated += 1;
                    return;
                }
                (None, Some(known)) => {
                    let mut bead = known.as_ref().clone();
                    bead.join(&patch);
                    (lineage, bead)
                }
                (None, None) => return,
            },
            None => match stand_in(id, deletion, first) {
                Ok(made) => made,
                Err(reason) => {
                    return self.summary.skip(&place.file, place.line, Some(id.clone()), &reason);
                }
            },
        };
        self.add(lineage, bead, place);
    }

    /// What is not here, or not so, goes into the delta.
    fn compare_beads(&mut self) {
        for (lineage, Incoming { bead, place }) in std::mem::take(&mut self.beads) {
            let known = self.catalog.bead(&lineage);
            let joined = known.map(|known| {
                let mut joined = known.as_ref().clone();
                joined.join(&Patch::from(&bead));
                joined
            });
            let joined = joined.as_ref().unwrap_or(&bead);
            if known.is_some_and(|known| known.as_ref() == joined) {
                self.summary.unchanged += 1;
                continue;
            }
            let id = self.catalog.id_of(&lineage);
            if let Err(error) = size::check_bead(id, &lineage, joined) {
                self.summary.skip(&place.file, place.line, Some(id.clone()), &error.to_string());
                continue;
            }
            let notes_before = known.map_or(0, |known| known.notes.len());
            self.summary.notes += joined.notes.len() - notes_before;
            let was_live = known.is_none_or(|known| known.deletion.is_none());
            match known {
                _ if joined.deletion.is_some() && was_live => self.summary.tombstones += 1,
                None => self.summary.created += 1,
                Some(_) => self.summary.updated += 1,
            }
            self.delta.beads.insert(lineage, Patch::from(bead));
        }
    }

    fn compare_edges(&mut self) {
        for (from, edge) in std::mem::take(&mut self.edges) {
            let end = self.holders.get(&edge.to).filter(|lineage| self.is_known(lineage));
            let end = end.or_else(|| self.catalog.state().names().holder(edge.to.as_str()));
            let Some(to) = end.filter(|to| **to != from).filter(|_| self.is_known(&from)).cloned() else {
                self.summary.dangling += usize::from(!edge.edge.deleted);
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
            if joined != before
                && let Some(joined) = joined
            {
                let new = self.delta.edges.insert(key, joined).is_none();
                self.summary.edges += usize::from(new);
            }
        }
    }

    fn is_known(&self, lineage: &Lineage) -> bool {
        self.delta.beads.contains_key(lineage) || self.catalog.bead(lineage).is_some()
    }
}
