//! Undoes an operation by a new operation, which reaches all replicas like any other. The overwritten values
//! are recorded when an operation is applied, because only then are they known exactly. Stamps show later
//! whether another write has happened since.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Applied;
use super::dep_add::check_edge;
use crate::error::Obstacle;
use crate::{
    Actor, Bead, Catalog, Claim, Context, Deletion, Delta, Edge, EdgeKey, EdgeKind, Error, Field, Lineage,
    Mark, Note, Patch, Result, Stamp, Text, Timestamp,
};

/// The most beads and edges that an operation may change and still be undoable.
const MAX_PARTS: usize = 1_000;

/// The most bytes of old values that are recorded for an operation.
const MAX_BYTES: usize = 64 * 1024;

/// Everything that one operation overwrote, so that it can be undone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// The beads it changed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", with = "pairs")]
    pub beads: BTreeMap<Lineage, Overwritten>,
    /// The edges it added or removed, with the mark of that write.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", with = "pairs")]
    pub edges: BTreeMap<EdgeKey, Mark>,
    /// The old values were not recorded: the operation was an import, or changed too much.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// The values that an operation overwrote in one bead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overwritten {
    /// Whether the bead existed before.
    #[serde(rename = "was")]
    pub prior: PriorState,
    /// The old values of the fields it wrote.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<Field, OldValue>,
    /// The old claim, if it wrote the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<OldClaim>,
    /// The mark of the deletion, if the operation deleted the bead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion: Option<Mark>,
    /// The newest mark that the operation left on the bead.
    pub last: Mark,
    /// How many notes it appended. An undo does not remove them.
    #[serde(default)]
    pub notes: usize,
}

/// The state of a bead before an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PriorState {
    /// It did not exist.
    Absent,
    /// It was deleted.
    Deleted {
        /// The reason of that deletion.
        reason: Text,
    },
    /// It existed.
    Live,
}

/// The old value of a field, and the mark that the operation left on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OldValue {
    /// The mark of the operation.
    pub mark: Mark,
    /// The value before the operation.
    pub value: Value,
}

/// The old claim of a bead, and the mark that the operation left on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OldClaim {
    /// The mark of the operation.
    pub mark: Mark,
    /// The assignee before the operation.
    pub assignee: Option<Actor>,
    /// The end of the lease before the operation.
    pub expires: Option<Timestamp>,
}

impl Undo {
    /// Records the values that a delta is about to overwrite. Returns `None` for a delta that changes no
    /// bead, such as a dismissed conflict. `by` and `at_ms` are the actor and time of the operation: a mark
    /// with another actor or an earlier time comes from an import. Only a claim may be stamped earlier, because
    /// its fence is minted before the remote or the hub decides.
    pub fn of(catalog: &Catalog, delta: &Delta, by: &Actor, at_ms: u64) -> Option<Self> {
        if delta.beads.is_empty() && delta.edges.is_empty() && delta.prefix.is_none() {
            return None;
        }
        let lost = Self { lost: true, ..Self::default() };
        // The content of archived beads may be gone by the time of an undo.
        let archives = |patch: &Patch| patch.deletion.as_ref().is_some_and(|deletion| deletion.archived);
        if delta.beads.len() + delta.edges.len() > MAX_PARTS || delta.beads.values().any(archives) {
            return Some(lost);
        }
        let mut undo = Self::default();
        for (lineage, patch) in &delta.beads {
            undo.beads
                .insert(lineage.clone(), Overwritten::by(catalog.bead(lineage).map(AsRef::as_ref), patch)?);
        }
        for (key, edge) in &delta.edges {
            let before = catalog.state().edge(key).is_some_and(|edge| !edge.deleted);
            if before == edge.deleted {
                undo.edges.insert(key.clone(), edge.changed.clone());
            }
        }
        let own = |mark: &Mark, from_ms: u64| mark.by() == by && mark.at().ms() >= from_ms;
        let is_own = |bead: &Overwritten| {
            let from_ms = if bead.is_only_claimed() { 0 } else { at_ms };
            bead.marks_left().all(|mark| own(mark, from_ms))
        };
        let fits = undo.beads.values().all(is_own)
            && undo.edges.values().all(|mark| own(mark, at_ms))
            && undo.bytes() <= MAX_BYTES;
        Some(if fits { undo } else { lost })
    }

    /// Returns the size of the recorded values.
    pub fn bytes(&self) -> usize {
        let values = self.beads.values().flat_map(|bead| bead.fields.values());
        values.map(|old| old.value.to_string().len()).sum()
    }

    pub(super) fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        if self.beads.is_empty() && self.edges.is_empty() && !self.lost {
            return Err(Error::NothingToUndo);
        }
        if let Some(reason) = self.refusal() {
            return Err(Error::CannotUndo(reason));
        }
        let obstacles = self.obstacles(catalog);
        if !obstacles.is_empty() {
            return Err(Error::UndoBlocked(obstacles));
        }
        let mark = context.mark(self.stamps(catalog))?;
        let mut delta = Delta::default();
        for (lineage, old) in self.beads.iter().filter(|(_, old)| old.writes()) {
            delta.beads.insert(lineage.clone(), old.patch(catalog, lineage, &mark)?);
        }
        for key in self.edges.keys() {
            let Some(edge) = catalog.state().edge(key) else { continue };
            if let (true, Some(from), Some(to)) = (edge.deleted, key.from.lineage(), key.to.lineage())
                && !closed_a_cycle(catalog, from, to, key.kind, &edge.changed)
            {
                check_edge(catalog, from, to, key.kind)?;
            }
            let edge = Edge { created: edge.created.clone(), changed: mark.clone(), deleted: !edge.deleted };
            delta.edges.insert(key.clone(), edge);
        }
        let bead = self.beads.keys().next().or_else(|| self.edges.keys().find_map(|key| key.from.lineage()));
        let bead = bead.cloned();
        let undone = Self::of(catalog, &delta, &context.actor, 0).map(Box::new);
        Ok(Applied { delta, bead, undone, ..Applied::default() })
    }

    /// Returns every stamp that the new one has to be greater than.
    fn stamps(&self, catalog: &Catalog) -> Vec<Stamp> {
        let beads = self.beads.keys().filter_map(|lineage| catalog.bead(lineage));
        let edges = self.edges.keys().filter_map(|key| catalog.state().edge(key));
        beads.flat_map(|bead| bead.stamps()).chain(edges.map(|edge| edge.changed.at())).collect()
    }

    /// Returns every later write to something that the operation wrote.
    fn obstacles(&self, catalog: &Catalog) -> Vec<Obstacle> {
        let mut found = Vec::new();
        let mut add = |lineage: &Lineage, what: String, mark: &Mark| {
            found.push(Obstacle { id: catalog.id_of(lineage).clone(), what, mark: mark.clone() });
        };
        for (lineage, old) in &self.beads {
            let Some(bead) = catalog.bead(lineage) else { continue };
            if let Some((what, mark)) = old.written_since(bead) {
                add(lineage, what, &mark);
            }
            for (field, mark) in old.fields_written_since(bead) {
                add(lineage, field.name().to_owned(), mark);
            }
            if old.prior == PriorState::Absent {
                for key in edges_of(catalog, lineage).filter(|key| !self.edges.contains_key(key)) {
                    if let Some(edge) = catalog.state().edge(&key) {
                        add(lineage, format!("dependency ({})", key.kind), &edge.changed);
                    }
                }
            }
        }
        for (key, mark) in &self.edges {
            if let (Some(edge), Some(from)) = (catalog.state().edge(key), key.from.lineage())
                && edge.changed != *mark
            {
                add(from, format!("dependency ({})", key.kind), &edge.changed);
            }
        }
        found
    }
}

/// Returns the edges that start or end at a bead, without removed ones.
fn edges_of<'a>(catalog: &'a Catalog, lineage: &'a Lineage) -> impl Iterator<Item = EdgeKey> + 'a {
    EdgeKind::ALL.into_iter().flat_map(move |kind| {
        let forth = catalog.targets(lineage, kind).map(move |to| EdgeKey::new(lineage, to, kind));
        let back = catalog.sources(lineage, kind).map(move |from| EdgeKey::new(from, lineage, kind));
        forth.chain(back)
    })
}

impl Overwritten {
    /// Records the values that a patch overwrites in a bead. An implicit renewal of the lease does not count.
    fn by(before: Option<&Bead>, patch: &Patch) -> Option<Self> {
        let notes = patch.notes.iter().map(|note| note.mark());
        let deletion = patch.deletion.as_ref().map(|deletion| deletion.mark.clone());
        let registers = patch.marks().map(|(_, mark)| mark.clone());
        let last = registers.chain(notes).chain(deletion.clone()).max()?;
        // A batch may delete a bead and then restore it; that is no deletion.
        let deletion = deletion.filter(|mark| *mark == last);
        let new = |prior| Self {
            prior,
            fields: BTreeMap::new(),
            claim: None,
            deletion: deletion.clone(),
            last: last.clone(),
            notes: patch.notes.len(),
        };
        let Some(bead) = before else { return Some(new(PriorState::Absent)) };
        if let Some(Deletion { reason, .. }) = &bead.deletion {
            return Some(new(PriorState::Deleted { reason: reason.clone() }));
        }
        let mut old = new(PriorState::Live);
        for (field, mark) in patch.marks().filter(|(field, mark)| *mark != bead.mark(*field)) {
            match field {
                Field::AssigneeExpires => {}
                Field::Assignee => {
                    let (assignee, expires) = (bead.claim.assignee.clone(), bead.claim.expires);
                    old.claim = Some(OldClaim { mark: mark.clone(), assignee, expires });
                }
                _ => {
                    let value = OldValue { mark: mark.clone(), value: bead.value_json(field) };
                    old.fields.insert(field, value);
                }
            }
        }
        Some(old)
    }

    /// Returns the marks that the operation left on the bead.
    fn marks_left(&self) -> impl Iterator<Item = &Mark> {
        let fields = self.fields.values().map(|old| &old.mark);
        fields.chain(self.claim.as_ref().map(|old| &old.mark)).chain([&self.last])
    }

    /// Returns whether the operation wrote nothing but the claim.
    fn is_only_claimed(&self) -> bool {
        self.claim.is_some() && self.fields.is_empty() && self.deletion.is_none() && self.notes == 0
    }

    /// Returns whether an undo has anything to write to the bead.
    pub(super) fn writes(&self) -> bool {
        match self.prior {
            PriorState::Absent | PriorState::Deleted { .. } => self.deletion.is_none(),
            PriorState::Live => !self.fields.is_empty() || self.claim.is_some() || self.deletion.is_some(),
        }
    }

    /// Returns a later write that prevents the undo: a deletion, a restoration, or any change to a bead that
    /// the undo would delete.
    fn written_since(&self, bead: &Bead) -> Option<(String, Mark)> {
        let newest = bead.updated();
        match (&bead.deletion, &self.deletion) {
            (Some(now), own) if own.as_ref() != Some(&now.mark) => {
                return Some(("deletion".to_owned(), now.mark.clone()));
            }
            (None, Some(_)) => return Some(("restoration".to_owned(), newest)),
            _ => {}
        }
        (self.prior != PriorState::Live && newest > self.last).then(|| ("later change".to_owned(), newest))
    }

    fn fields_written_since<'a>(&'a self, bead: &'a Bead) -> impl Iterator<Item = (Field, &'a Mark)> {
        let fields = self.fields.iter().map(|(field, old)| (*field, &old.mark));
        let claim = self.claim.iter().map(|old| (Field::Assignee, &old.mark));
        let now = fields.chain(claim).filter(|(field, mark)| bead.mark(*field) != *mark);
        now.map(|(field, _)| (field, bead.mark(field)))
    }

    fn patch(&self, catalog: &Catalog, lineage: &Lineage, mark: &Mark) -> Result<Patch> {
        let reason = match &self.prior {
            PriorState::Absent => Some("its creation was undone".parse()?),
            PriorState::Deleted { reason } => Some(reason.clone()),
            PriorState::Live => None,
        };
        if let Some(reason) = reason {
            let deletion = Some(Deletion::new(mark.clone(), reason));
            return Ok(Patch { deletion, ..Patch::default() });
        }
        let mut patch = Patch::default();
        for (field, old) in &self.fields {
            let one = Patch::from_json(*field, &old.value, mark).map_err(|reason| {
                Error::invalid("undo", format!("{} of {}: {reason}", field.name(), catalog.id_of(lineage)))
            })?;
            patch.join(&one);
        }
        if let Some(old) = &self.claim {
            patch.claim = Some(Claim::new(mark.clone(), old.assignee.clone(), old.expires));
        }
        if self.deletion.is_some() {
            // As in `Restore`: a note that is newer than the deletion brings the bead back.
            patch.notes.push(Arc::new(Note::new(lineage, mark, "its deletion was undone".parse()?, None)));
        }
        Ok(patch)
    }
}

/// Serializes maps whose keys are not strings as lists of pairs.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<K, V, S>(map: &BTreeMap<K, V>, serializer: S) -> Result<S::Ok, S::Error>
    where
        K: Serialize,
        V: Serialize,
        S: Serializer,
    {
        serializer.collect_seq(map)
    }

    pub fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect())
    }
}

/// Returns whether an edge closed a cycle when it was removed: two machines can build one, and cutting it can be
/// undone. A cycle with a newer edge would be a new one.
fn closed_a_cycle(catalog: &Catalog, from: &Lineage, to: &Lineage, kind: EdgeKind, removed: &Mark) -> bool {
    let is_older = |ends: &[Lineage]| {
        let edge = catalog.state().edge(&EdgeKey::new(&ends[0], &ends[1], kind));
        edge.is_some_and(|edge| edge.changed < *removed)
    };
    catalog.path(to, from, kind).is_some_and(|path| path.windows(2).all(is_older))
}
