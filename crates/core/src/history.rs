//! The history of a bead. Every version of a register is identified by the mark of its write, so versions can
//! be collected from snapshots in any order. Values that were overwritten between two snapshots are lost.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::body::Body;
use crate::canonical::to_canonical;
use crate::line::{EdgeLine, TombstoneLine, bead_from_body};
use crate::{Bead, BeadId, Deletion, Edge, EdgeKind, Field, Lineage, Mark, NoteId, Patch, Text};

/// All known changes to one bead.
#[derive(Debug, Clone)]
pub struct History {
    lineage: Lineage,
    versions: BTreeMap<(Mark, Field), Value>,
    notes: BTreeMap<(Mark, NoteId), Text>,
    deletions: BTreeMap<Mark, Text>,
    /// Whether an edge was present after the write. The target has the id that it had then.
    edges: BTreeMap<(Mark, EdgeKind, BeadId), bool>,
}

/// One write: all changes with the same mark.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// Who wrote it and when.
    pub mark: Mark,
    /// Whether this write created the bead.
    pub created: bool,
    /// The changed fields.
    pub changes: Vec<FieldChange>,
    /// The added notes: one text, or several pieces of evidence.
    pub notes: Vec<Text>,
    /// The reason, if this write deleted the bead.
    pub deleted: Option<Text>,
    /// The added and removed edges.
    pub edges: Vec<EdgeChange>,
}

/// An edge from the bead that was added or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeChange {
    /// The kind of the edge.
    pub kind: EdgeKind,
    /// The target of the edge.
    pub to: BeadId,
    /// Whether the edge was added; otherwise it was removed.
    pub added: bool,
}

/// A register before and after a write, as plain JSON. An empty value is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldChange {
    /// The field.
    pub field: Field,
    /// The old value.
    pub from: Value,
    /// The new value.
    pub to: Value,
}

impl History {
    /// Returns an empty history of a bead.
    pub fn new(lineage: &Lineage) -> Self {
        Self {
            lineage: lineage.clone(),
            versions: BTreeMap::new(),
            notes: BTreeMap::new(),
            deletions: BTreeMap::new(),
            edges: BTreeMap::new(),
        }
    }

    /// Records the bead as it was at some time.
    pub fn record(&mut self, bead: &Bead) {
        if bead.is_hollow() {
            return;
        }
        for field in Field::ALL {
            self.versions.insert((bead.mark(*field).clone(), *field), bead.value_json(*field));
        }
        for note in bead.notes.values() {
            self.notes.insert((note.mark(), note.id.clone()), note.content.clone());
        }
        // The mark of an archived bead is that of its last write, so it is no write of its own.
        if let Some(Deletion { mark, reason, archived: false }) = &bead.deletion {
            self.deletions.insert(mark.clone(), reason.clone());
        }
    }

    /// Records an edge from the bead as it was at some time: its first creation and its last change.
    pub fn record_edge(&mut self, kind: EdgeKind, to: &BeadId, edge: &Edge) {
        self.edges.insert((edge.created.clone(), kind, to.clone()), true);
        self.edges.insert((edge.changed.clone(), kind, to.clone()), !edge.deleted);
    }

    /// Records one write and returns the bead after it. `before` is `None` if the write may create the bead.
    pub fn record_patch(&mut self, before: Option<Bead>, patch: &Patch) -> Option<Bead> {
        let after = match before {
            Some(mut bead) => {
                bead.join(patch);
                Some(bead)
            }
            None => patch.clone().into_bead(),
        };
        if let Some(bead) = &after {
            self.record(bead);
        }
        after
    }

    /// Returns the writes, oldest first. Lease renewals are omitted.
    pub fn writes(&self) -> Vec<Write> {
        let mut writes: BTreeMap<&Mark, Write> = BTreeMap::new();
        let birth = self.lineage.mark();
        let mut current: BTreeMap<Field, &Value> = BTreeMap::new();
        let empty = |mark: &Mark| Write {
            mark: mark.clone(),
            created: *mark == birth,
            changes: Vec::new(),
            notes: Vec::new(),
            deleted: None,
            edges: Vec::new(),
        };
        for ((mark, field), value) in &self.versions {
            let from = current.insert(*field, value).cloned().unwrap_or(Value::Null);
            if *field == Field::AssigneeExpires && *mark != birth || from == *value {
                continue;
            }
            let write = writes.entry(mark).or_insert_with(|| empty(mark));
            write.changes.push(FieldChange { field: *field, from, to: value.clone() });
        }
        for ((mark, _), note) in &self.notes {
            writes.entry(mark).or_insert_with(|| empty(mark)).notes.push(note.clone());
        }
        for (mark, reason) in &self.deletions {
            writes.entry(mark).or_insert_with(|| empty(mark)).deleted = Some(reason.clone());
        }
        for ((mark, kind, to), added) in &self.edges {
            let change = EdgeChange { kind: *kind, to: to.clone(), added: *added };
            writes.entry(mark).or_insert_with(|| empty(mark)).edges.push(change);
        }
        writes.into_values().collect()
    }
}

/// Finds a bead in the files of a snapshot, live or deleted, and returns it with the id it had. Only its line
/// is decoded.
pub fn find_bead(state: &[u8], tombstones: &[u8], lineage: &Lineage) -> Option<(BeadId, Bead)> {
    // Canonical lines contain the birth in exactly these bytes.
    let stamp = String::from_utf8(to_canonical(&lineage.at())).ok()?;
    let by = String::from_utf8(to_canonical(lineage.by())).ok()?;
    let birth = format!("\"created_at\":{stamp},\"created_by\":{by}").into_bytes();
    let with_birth = |file: &[u8]| -> Vec<Vec<u8>> {
        let lines = file.split(|byte| *byte == b'\n');
        lines.filter(|line| line.windows(birth.len()).any(|part| part == birth)).map(<[u8]>::to_vec).collect()
    };
    let own = |id: BeadId, body: Body| {
        let (found, bead, _) = bead_from_body(&id, body).ok()?;
        (found == *lineage).then_some((id, bead))
    };
    let live = with_birth(state).iter().find_map(|line| {
        let mut body: Body = serde_json::from_slice(line).ok()?;
        own(body.id.take()?, body)
    });
    live.or_else(|| {
        with_birth(tombstones).iter().find_map(|line| {
            let mut line: TombstoneLine = serde_json::from_slice(line).ok()?;
            let deletion = line.deletion();
            let (id, mut bead) = own(line.id, line.bead.take()?)?;
            bead.deletion = Some(deletion);
            Some((id, bead))
        })
    })
}

/// Finds the edges from a bead in the file of a snapshot, present and removed. Only their lines are decoded.
pub fn find_edges(deps: &[u8], from: &BeadId) -> Vec<(EdgeKind, BeadId, Edge)> {
    // Ids need no escaping, so canonical lines contain them in exactly these bytes.
    let start = format!("\"from\":\"{from}\"").into_bytes();
    let lines = deps.split(|byte| *byte == b'\n');
    let own = lines.filter(|line| line.windows(start.len()).any(|part| part == start));
    own.filter_map(|line| {
        let line: EdgeLine = serde_json::from_slice(line).ok()?;
        let edge = line.edge().ok()?;
        (line.from == *from).then_some((line.kind, line.to, edge))
    })
    .collect()
}
