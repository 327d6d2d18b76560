//! Exports all beads as JSON lines in the format of the Go `bd`, sorted by id. Importing the lines restores
//! the same beads: what the format cannot express is in one more field, which other readers ignore
//! (docs/IMPORT.md).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::body::FieldName;
use crate::import::{
    self, Dependency, Draft, Exact, Fields, KEPT, Kept, far_future, is_imported, mapped_status, unknown_actor,
};
use crate::words::MEMORY;
use crate::{
    Bead, BeadId, Deletion, Edge, EdgeKind, Endpoint, Field, Lineage, Note, Stamp, State, Status, Timestamp,
};

/// The fields of the format, in order. Other fields that were kept from an import follow them.
const KNOWN_FIELDS: &[&str] = &[
    "id",
    "title",
    "description",
    "design",
    "acceptance_criteria",
    "notes",
    "status",
    "priority",
    "issue_type",
    "assignee",
    "estimated_minutes",
    "created_at",
    "created_by",
    "updated_at",
    "closed_at",
    "close_reason",
    "due_at",
    "defer_until",
    "external_ref",
    "source_repo",
    "metadata",
    "labels",
    "dependencies",
    "comments",
    "deleted_at",
    "deleted_by",
    "delete_reason",
];

/// The edges of a bead, by target and kind.
type Edges<'a> = BTreeMap<(&'a BeadId, EdgeKind), &'a Edge>;

/// Returns the contents of `issues.jsonl`: live beads and tombstones. Equal states have equal bytes.
pub fn export_jsonl(state: &State) -> Vec<u8> {
    let edges = edges_by_bead(state);
    let none = Edges::new();
    let mut out = Vec::new();
    for (id, lineage) in state.names().holders() {
        // Archived beads are exported from a state that has their content, where they are live.
        let Some(bead) = state.bead(lineage).filter(|bead| !bead.is_archived()) else { continue };
        let line = Line { state, id, lineage, bead, edges: edges.get(lineage).unwrap_or(&none) };
        line.write(&mut out);
    }
    out
}

fn edges_by_bead(state: &State) -> BTreeMap<&Lineage, Edges<'_>> {
    let mut edges: BTreeMap<&Lineage, Edges<'_>> = BTreeMap::new();
    for (key, edge) in state.edges() {
        let Some(from) = key.from.lineage() else { continue };
        let to = match &key.to {
            Endpoint::Bead(lineage) => state.names().id_of(lineage),
            Endpoint::Bare(id) => id,
        };
        edges.entry(from).or_default().insert((to, key.kind), edge);
    }
    edges
}

struct Line<'a> {
    state: &'a State,
    id: &'a BeadId,
    lineage: &'a Lineage,
    bead: &'a Bead,
    edges: &'a Edges<'a>,
}

/// Fields in the order of the format.
struct Ordered(Vec<(String, Value)>);

impl Ordered {
    fn push(&mut self, name: &str, value: Option<Value>) {
        self.0.extend(value.map(|value| (name.to_owned(), value)));
    }
}

/// Returns `None` for an empty value, because our own empty fields are omitted.
fn non_empty(value: Value) -> Option<Value> {
    let empty = match &value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    (!empty).then_some(value)
}

impl Line<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        if let Some(memory) = self.memory() {
            out.extend(crate::canonical::to_canonical(&memory));
            out.push(b'\n');
            return;
        }
        let (fields, edges) = self.fields();
        let map: Map<String, Value> = fields.0.iter().cloned().collect();
        let exact = self.exact(map, edges);
        out.push(b'{');
        let exact = exact.map(|exact| (import::EXACT.to_owned(), json!(exact)));
        for (index, (name, value)) in fields.0.into_iter().chain(exact).enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend(crate::canonical::to_canonical(&name));
            out.push(b':');
            out.extend(crate::canonical::to_canonical(&value));
        }
        out.extend(b"}\n");
    }

    /// Returns the short line of a memory, if it expresses everything about the bead.
    fn memory(&self) -> Option<Map<String, Value>> {
        if !self.bead.is_memory() || self.bead.deletion.is_some() || !self.edges.is_empty() {
            return None;
        }
        let mut line: Map<String, Value> = self.kept().into_iter().collect();
        line.insert("value".into(), json!(self.bead.description.value));
        // Both are derived from the key.
        line.retain(|name, _| !["title", "external_ref"].contains(&name.as_str()));
        if line.get("_type").is_none_or(|kind| kind != MEMORY) || line.contains_key("id") {
            return None;
        }
        let draft = Draft::memory(&line).ok()?;
        let same = draft.lineage() == *self.lineage
            && draft.bead(self.lineage, None, |_| true).is_ok_and(|derived| derived == *self.bead);
        same.then_some(line)
    }

    fn kept(&self) -> Kept {
        let kept = self.bead.metadata.value.get(KEPT).and_then(Value::as_object);
        kept.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Returns whether a register was last written by an import. No replica mints stamps with tag 0.
    fn imported(&self, field: Field) -> bool {
        is_imported(self.bead.mark(field).at())
    }

    fn fields(&self) -> (Ordered, Vec<Option<Edge>>) {
        let (bead, kept) = (self.bead, self.kept());
        // The original value, unless the register was written after the import.
        let or = |name: &str, field: Field, ours: Value| match kept.get(name) {
            Some(original) if self.imported(field) => Some(original.clone()),
            _ => non_empty(ours),
        };
        let mut out = Ordered(Vec::new());
        out.push("id", Some(json!(self.id)));
        out.push("title", or("title", Field::Title, json!(bead.title.value)));
        out.push("description", or("description", Field::Description, json!(bead.description.value)));
        out.push("design", or("design", Field::Design, json!(bead.design.value)));
        let criteria = json!(bead.acceptance_criteria.value);
        out.push("acceptance_criteria", or("acceptance_criteria", Field::AcceptanceCriteria, criteria));
        let slot = self.slot();
        let notes = slot.map(|note| json!(note.content)).or_else(|| kept.get("notes").cloned());
        out.push("notes", notes);
        let (status, shelved) = self.status(&kept);
        out.push("status", Some(json!(status)));
        out.push("priority", or("priority", Field::Priority, json!(bead.priority.value)));
        out.push("issue_type", or("issue_type", Field::Type, json!(bead.kind.value.shown())));
        out.push("assignee", or("assignee", Field::Assignee, json!(bead.claim.assignee)));
        let estimate = json!(bead.estimated_minutes.value);
        out.push("estimated_minutes", or("estimated_minutes", Field::EstimatedMinutes, estimate));
        self.push_times(&mut out, &kept);
        out.push("due_at", or("due_at", Field::DueAt, rfc3339(bead.due_at.value)));
        let has_no_date =
            shelved && bead.defer_until.value == Some(far_future()) && self.imported(Field::DeferUntil);
        let until = bead.defer_until.value.filter(|_| !has_no_date);
        out.push("defer_until", or("defer_until", Field::DeferUntil, rfc3339(until)));
        out.push("external_ref", or("external_ref", Field::ExternalRef, json!(bead.external_ref.value)));
        out.push("source_repo", or("source_repo", Field::SourceRepo, json!(bead.source_repo.value)));
        let mut metadata = bead.metadata.value.as_map().clone();
        metadata.remove(KEPT);
        out.push("metadata", or("metadata", Field::Metadata, Value::Object(metadata)));
        out.push("labels", or("labels", Field::Labels, json!(bead.labels.value.iter().collect::<Vec<_>>())));
        let (dependencies, edges) = self.dependencies(&kept);
        out.push("dependencies", non_empty(Value::Array(dependencies)));
        out.push("comments", non_empty(Value::Array(self.comments(slot, &kept))));
        self.push_deletion(&mut out, &kept);
        for (name, value) in kept.iter().filter(|(name, _)| !KNOWN_FIELDS.contains(&name.as_str())) {
            out.push(name, Some(value.clone()));
        }
        (out, edges)
    }

    /// Returns the status word of the imported file, if it still matches the status of the bead.
    fn status(&self, kept: &Kept) -> (String, bool) {
        if self.bead.deletion.is_some() {
            return ("tombstone".to_owned(), false);
        }
        let status = self.bead.status();
        let word = kept.get("status").and_then(Value::as_str).filter(|_| self.imported(Field::Status));
        let word = word.filter(|word| mapped_status(word, status == Status::Closed).status == status);
        let word = word.unwrap_or(self.bead.shown_status());
        // Before words could be stored, imports deferred such beads without a date.
        (word.to_owned(), ["deferred", "pinned"].contains(&word))
    }

    fn push_times(&self, out: &mut Ordered, kept: &Kept) {
        let (bead, lineage) = (self.bead, self.lineage);
        let created = kept.get("created_at").cloned();
        out.push("created_at", created.or_else(|| Some(time(lineage.at()))));
        let by = kept.get("created_by").cloned();
        let ours = (*lineage.by() != unknown_actor()).then(|| json!(lineage.by()));
        out.push("created_by", by.or(ours));
        let updated = bead.updated();
        let original = kept.get("updated_at").cloned().filter(|_| is_imported(updated.at()));
        out.push("updated_at", original.or_else(|| Some(time(updated.at()))));
        let original = |name: &str| kept.get(name).cloned().filter(|_| self.imported(Field::Status));
        let closed = bead.status.value.status == Status::Closed;
        let closed_at = closed.then(|| time(bead.status.mark.at()));
        out.push("closed_at", closed_at.or_else(|| original("closed_at")));
        let reason = non_empty(json!(bead.status.value.closed_reason));
        out.push("close_reason", original("close_reason").or(reason));
    }

    fn push_deletion(&self, out: &mut Ordered, kept: &Kept) {
        let Some(Deletion { mark, reason, .. }) = &self.bead.deletion else {
            for name in ["deleted_at", "deleted_by", "delete_reason"] {
                out.push(name, kept.get(name).cloned());
            }
            return;
        };
        out.push("deleted_at", Some(time(mark.at())));
        out.push("deleted_by", Some(json!(mark.by())));
        out.push("delete_reason", non_empty(json!(reason)));
    }

    /// Returns the note for the field `notes`: the newest one that was written to it.
    fn slot(&self) -> Option<&Note> {
        let slots = self.bead.notes.values().filter(|note| note.slot.is_some());
        slots.max_by(|a, b| a.order().cmp(&b.order())).map(AsRef::as_ref)
    }

    fn comments(&self, slot: Option<&Note>, kept: &Kept) -> Vec<Value> {
        let notes = self.bead.notes_in_order();
        let others = notes.into_iter().filter(|note| slot.is_none_or(|slot| slot.id != note.id));
        let comments = others.map(|note| {
            json!({
                "id": comment_id(&note.id), "issue_id": self.id, "author": note.author,
                "text": note.content, "created_at": time(note.at),
            })
        });
        comments
            .chain(kept.get("comments").and_then(Value::as_array).into_iter().flatten().cloned())
            .collect()
    }

    /// Returns the dependencies and, for each, the edge here. If the original of an edge was kept, the
    /// original is used.
    fn dependencies(&self, kept: &Kept) -> (Vec<Value>, Vec<Option<Edge>>) {
        let mut originals: BTreeMap<(BeadId, EdgeKind), Vec<Value>> = BTreeMap::new();
        let mut unparsed = Vec::new();
        for value in kept.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
            match value.as_object().and_then(|map| Dependency::read(map, Stamp::ZERO)) {
                Some(edge) => originals.entry((edge.to, edge.kind)).or_default().push(value.clone()),
                None => unparsed.push(value.clone()),
            }
        }
        let mut entries: Vec<(String, EdgeKind, Value, Option<Edge>)> = Vec::new();
        for ((to, kind), edge) in self.edges {
            let kept = originals.remove(&((*to).clone(), *kind));
            if edge.deleted {
                continue;
            }
            let ours = || {
                json!({
                    "issue_id": self.id, "depends_on_id": to, "type": kind.client_name(),
                    "created_at": time(edge.created.at()), "created_by": edge.created.by(),
                })
            };
            for value in kept.unwrap_or_else(|| vec![ours()]) {
                entries.push((to.to_string(), *kind, value, Some((*edge).clone())));
            }
        }
        for ((to, kind), values) in originals {
            entries.extend(values.into_iter().map(|value| (to.to_string(), kind, value, None)));
        }
        entries.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        let (mut values, edges): (Vec<_>, Vec<_>) =
            entries.into_iter().map(|(_, _, value, edge)| (value, edge)).unzip();
        values.extend(unparsed);
        (values, edges)
    }

    /// Returns what importing the line alone would not restore.
    fn exact(&self, line: Map<String, Value>, edges: Vec<Option<Edge>>) -> Option<Exact> {
        let sum = import::sum(&line);
        let in_file = |id: &BeadId| self.state.names().holder(id.as_str()).is_some();
        let draft = Draft::read(Fields::new(line), None).ok()?;
        let derived = draft.bead(self.lineage, None, in_file).ok()?;
        let same_edges = draft.edges().zip(&edges).all(|(a, b)| b.as_ref().is_none_or(|b| a == b));
        if draft.lineage() == *self.lineage && same_edges && derived == *self.bead {
            return None;
        }
        let (bead, top, slot) = (self.bead, self.bead.top_mark(), self.slot());
        let notes = bead.notes_in_order().into_iter();
        let differing =
            Field::ALL.iter().filter(|field| derived.value_json(**field) != bead.value_json(**field));
        // The line has the assignee, and `assignee_expires` has the lease.
        let differing = differing.filter(|field| !matches!(field, Field::Assignee | Field::AssigneeExpires));
        let marks = Field::ALL.iter().map(|field| (FieldName(*field), bead.mark(*field)));
        Some(Exact {
            sum,
            born: (self.lineage.birth_id() != self.id).then(|| self.lineage.birth_id().clone()),
            created: self.lineage.at(),
            created_by: self.lineage.by().clone(),
            at: top.at(),
            by: top.by().clone(),
            v: marks.filter(|(_, mark)| *mark != top).map(|(name, mark)| (name, mark.clone())).collect(),
            created_on_branch: bead.created_on_branch.clone(),
            closed_on_branch: bead.status.value.closed_on_branch.clone(),
            assignee_expires: bead.claim.expires,
            comments: notes
                .filter(|note| slot.is_none_or(|slot| slot.id != note.id))
                .map(|note| (note.at, note.slot))
                .collect(),
            notes: slot.map(Note::mark),
            dependencies: edges
                .into_iter()
                .map(|edge| edge.map(|edge| (edge.created, edge.changed)))
                .collect(),
            deleted: bead.deletion.as_ref().map(|deletion| deletion.mark.clone()),
            values: differing.map(|field| (FieldName(*field), bead.value_json(*field))).collect(),
        })
    }
}

/// Returns a note id as a number, as the Go `bd` expects. Our ids are 12 hexadecimal digits.
fn comment_id(id: &str) -> u64 {
    u64::from_str_radix(id, 16).unwrap_or(0)
}

fn time(stamp: Stamp) -> Value {
    Value::String(Timestamp::from(stamp).to_string())
}

fn rfc3339(time: Option<Timestamp>) -> Value {
    time.map_or(Value::Null, |time| Value::String(time.to_string()))
}
