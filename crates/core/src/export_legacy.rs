//! Exports all beads as the files of a legacy store, the store of the earlier Rust implementation
//! (docs/IMPORT.md). What was imported from such a store is exported unchanged; what the legacy format cannot
//! express is omitted.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::canonical::to_canonical;
use crate::import::{Dependency, KEPT, Kept, LegacyExtras, is_imported};
use crate::limits::COUNTER_STEP;
use crate::{
    Bead, BeadId, Deletion, Edge, EdgeKind, Endpoint, Field, Lineage, Mark, Stamp, State, Status, Timestamp,
};

/// Returns the files of the legacy store by name. Equal states have equal bytes.
pub fn export_legacy_store(state: &State) -> BTreeMap<&'static str, Vec<u8>> {
    let mut live = Vec::new();
    let mut tombstones = Vec::new();
    let mut edges = state_edges(state);
    for (id, lineage) in state.names().holders() {
        let Some(bead) = state.bead(lineage).filter(|bead| !bead.is_archived()) else { continue };
        let line = Line::new(id, lineage, bead);
        match &bead.deletion {
            Some(deletion) => push(&mut tombstones, &tombstone(id, deletion)),
            None => push(&mut live, &line.fields()),
        }
        for lost in &line.earlier.lost_births {
            push(&mut tombstones, &lost.with_id(id));
        }
        line.add_kept_edges(&mut edges);
    }
    let mut deps = Vec::new();
    for ((from, to, kind), edge) in &edges {
        push(&mut deps, &edge_line(from, to, *kind, edge));
    }
    let meta = to_canonical(&json!({"format_version": 1}));
    [("state.jsonl", live), ("tombstones.jsonl", tombstones), ("deps.jsonl", deps), ("meta.json", meta)]
        .into()
}

fn push(lines: &mut Vec<u8>, line: &Map<String, Value>) {
    lines.extend(to_canonical(line));
    lines.push(b'\n');
}

type Edges = BTreeMap<(BeadId, BeadId, EdgeKind), Edge>;

/// Returns every edge, present or removed, by the ids of its ends.
fn state_edges(state: &State) -> Edges {
    let id = |end: &Endpoint| match end {
        Endpoint::Bead(lineage) => state.names().id_of(lineage).clone(),
        Endpoint::Bare(id) => id.clone(),
    };
    state.edges().iter().map(|(key, edge)| ((id(&key.from), id(&key.to), key.kind), edge.clone())).collect()
}

fn edge_line(from: &BeadId, to: &BeadId, kind: EdgeKind, edge: &Edge) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("from".into(), json!(from));
    out.insert("to".into(), json!(to));
    out.insert("kind".into(), json!(kind.as_str()));
    out.insert("created_at".into(), stamp(edge.created.at()));
    out.insert("created_by".into(), json!(edge.created.by()));
    if edge.deleted {
        out.insert("deleted_at".into(), stamp(edge.changed.at()));
        out.insert("deleted_by".into(), json!(edge.changed.by()));
    }
    out
}

fn tombstone(id: &BeadId, deletion: &Deletion) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("id".into(), json!(id));
    out.insert("deleted_at".into(), stamp(deletion.mark.at()));
    out.insert("deleted_by".into(), json!(deletion.mark.by()));
    if !deletion.reason.is_empty() {
        out.insert("reason".into(), json!(deletion.reason));
    }
    out
}

/// Returns a stamp in the legacy format. Imported stamps are unchanged; our own lose the tag of their
/// replica.
pub(crate) fn stamp(stamp: Stamp) -> Value {
    json!([stamp.ms(), stamp.counter() / COUNTER_STEP])
}

fn mark(mark: &Mark) -> Value {
    json!([stamp(mark.at()), mark.by()])
}

/// The registers of the legacy store by their names in `_v`.
const REGISTERS: [(&str, Field); 12] = [
    ("title", Field::Title),
    ("description", Field::Description),
    ("design", Field::Design),
    ("acceptance_criteria", Field::AcceptanceCriteria),
    ("priority", Field::Priority),
    ("type", Field::Type),
    ("labels", Field::Labels),
    ("external_ref", Field::ExternalRef),
    ("source_repo", Field::SourceRepo),
    ("estimated_minutes", Field::EstimatedMinutes),
    ("workflow", Field::Status),
    ("claim", Field::Assignee),
];

/// Registers that the legacy store does not have. Its readers ignore unknown names, and our import restores
/// them.
const OURS: [(&str, Field); 3] =
    [("due_at", Field::DueAt), ("defer_until", Field::DeferUntil), ("metadata", Field::Metadata)];

/// Kept fields that are not copied, because their content is written from the bead.
const WRITTEN_FROM_BEAD: [&str; 6] =
    ["dependencies", "comments", "notes", "assignee_at", "issue_type", LegacyExtras::NAME];

struct Line<'a> {
    id: &'a BeadId,
    lineage: &'a Lineage,
    bead: &'a Bead,
    kept: Kept,
    earlier: LegacyExtras,
}

impl<'a> Line<'a> {
    fn new(id: &'a BeadId, lineage: &'a Lineage, bead: &'a Bead) -> Self {
        let kept = bead.metadata.value.get(KEPT).and_then(Value::as_object);
        let kept: Kept =
            kept.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { id, lineage, bead, earlier: LegacyExtras::of(&kept), kept }
    }

    fn imported(&self, field: Field) -> bool {
        is_imported(self.bead.mark(field).at())
    }

    /// Returns the original value of a register, if an import wrote the register last and kept the original.
    fn original(&self, name: &str, field: Field) -> Option<Value> {
        self.kept.get(name).filter(|_| self.imported(field)).cloned()
    }

    fn fields(&self) -> Map<String, Value> {
        let bead = self.bead;
        let mut out: Map<String, Value> = self
            .kept
            .iter()
            .filter(|(name, _)| !WRITTEN_FROM_BEAD.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        out.insert("id".into(), json!(self.id));
        out.insert("created_at".into(), stamp(self.lineage.at()));
        out.insert("created_by".into(), json!(self.lineage.by()));
        let mut set = |name: &str, field: Field, required: bool, value: Value| {
            let value = self.original(name, field).unwrap_or(value);
            if required || !is_empty(&value) {
                out.insert(name.to_owned(), value);
            } else {
                out.remove(name);
            }
        };
        set("title", Field::Title, true, json!(bead.title.value));
        set("description", Field::Description, true, json!(bead.description.value));
        set("design", Field::Design, false, json!(bead.design.value));
        let criteria = json!(bead.acceptance_criteria.value);
        set("acceptance_criteria", Field::AcceptanceCriteria, false, criteria);
        set("priority", Field::Priority, true, json!(bead.priority.value));
        set("labels", Field::Labels, true, json!(bead.labels.value.iter().collect::<Vec<_>>()));
        set("external_ref", Field::ExternalRef, false, json!(bead.external_ref.value));
        set("source_repo", Field::SourceRepo, false, json!(bead.source_repo.value));
        set("estimated_minutes", Field::EstimatedMinutes, false, json!(bead.estimated_minutes.value));
        let time = |time: Option<Timestamp>| json!(time.map(|time| time.to_string()));
        set("due_at", Field::DueAt, false, time(bead.due_at.value));
        set("defer_until", Field::DeferUntil, false, time(bead.defer_until.value));
        let mut metadata = bead.metadata.value.as_map().clone();
        metadata.remove(KEPT);
        set("metadata", Field::Metadata, false, Value::Object(metadata));
        let kind = self.original("issue_type", Field::Type);
        out.insert("type".into(), kind.unwrap_or_else(|| json!(bead.kind.value.shown())));
        if !bead.created_on_branch.is_empty() {
            out.insert("created_on_branch".into(), json!(bead.created_on_branch));
        }
        self.push_status(&mut out);
        self.push_claim(&mut out);
        let notes = self.notes();
        if !notes.is_empty() {
            out.insert("notes".into(), Value::Array(notes));
        }
        self.push_marks(&mut out);
        out
    }

    fn push_status(&self, out: &mut Map<String, Value>) {
        let group = &self.bead.status.value;
        let is_imported = self.imported(Field::Status);
        // In a legacy store, an open bead may have an assignee. Here, such a bead is in progress.
        let status =
            if is_imported && self.imported(Field::Assignee) { group.status } else { self.bead.status() };
        match self.earlier.status.as_ref().filter(|_| is_imported && status == group.status) {
            Some(words) => out.extend(words.clone()),
            None => {
                out.insert("status".into(), json!(status));
                if let Some(word) = &group.word {
                    out.insert("tracker_state".into(), json!(word));
                }
            }
        }
        if group.status == Status::Closed {
            let mark = &self.bead.status.mark;
            out.insert("closed_at".into(), stamp(mark.at()));
            out.insert("closed_by".into(), json!(mark.by()));
            for (name, value) in [
                ("closed_reason", json!(group.closed_reason)),
                ("closed_on_branch", json!(group.closed_on_branch)),
            ] {
                if !is_empty(&value) {
                    out.insert(name.into(), value);
                }
            }
        }
    }

    fn push_claim(&self, out: &mut Map<String, Value>) {
        let claim = &self.bead.claim;
        let Some(assignee) = &claim.assignee else { return };
        out.insert("assignee".into(), json!(assignee));
        out.insert("assignee_at".into(), stamp(claim.mark.at()));
        if let Some(expires) = claim.expires.filter(|_| self.exports_lease()) {
            out.insert("assignee_expires".into(), json!(expires.ms()));
        }
    }

    /// Returns whether to export the lease. Claims in a legacy store may have no lease, so a lease that was
    /// added to an imported claim is not exported.
    fn exports_lease(&self) -> bool {
        !self.imported(Field::Assignee) || self.imported(Field::AssigneeExpires)
    }

    fn notes(&self) -> Vec<Value> {
        let notes = self.bead.notes_in_order().into_iter().map(|note| {
            let id = self.earlier.note_ids.get(&*note.id).map_or(&*note.id, String::as_str);
            json!({"id": id, "content": note.content, "author": note.author, "at": stamp(note.at)})
        });
        let unparsed = self.kept.get("comments").and_then(Value::as_array).into_iter().flatten().cloned();
        notes.chain(unparsed).collect()
    }

    /// Adds `_at` and `_by`, the newest mark, and `_v`, the marks that differ from it.
    fn push_marks(&self, out: &mut Map<String, Value>) {
        let counts = |field: &&Field| **field != Field::AssigneeExpires || self.exports_lease();
        let marks = Field::ALL.iter().filter(counts).map(|field| self.bead.mark(*field));
        let Some(top) = marks.max() else { return };
        let ours = OURS.into_iter().filter(|(name, _)| out.contains_key(*name));
        let others: Map<String, Value> = REGISTERS
            .into_iter()
            .chain(ours)
            .map(|(name, field)| (name, self.bead.mark(field)))
            .filter(|(_, mark)| *mark != top)
            .map(|(name, found)| (name.to_owned(), mark(found)))
            .collect();
        if !others.is_empty() {
            out.insert("_v".into(), Value::Object(others));
        }
        out.insert("_at".into(), stamp(top.at()));
        out.insert("_by".into(), json!(top.by()));
    }

    /// Adds the edges to beads that were not in the imported file. The import kept them unchanged.
    fn add_kept_edges(&self, edges: &mut Edges) {
        for value in self.kept.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
            let Some(kept) = value.as_object().and_then(|map| Dependency::read(map, self.lineage.at()))
            else {
                continue;
            };
            edges.entry((self.id.clone(), kept.to, kept.kind)).or_insert(kept.edge);
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}
