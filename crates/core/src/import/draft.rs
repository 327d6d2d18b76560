//! A line of `issues.jsonl`, understood: everything about a bead but what depends on other lines.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::comment::{self, Comment};
use super::dependency::{self, Dependency};
use super::exact::{self, Exact};
use super::fields::Fields;
use super::kind::{self, MappedStatus};
use super::{KEPT, Kept, time, unknown_actor};
use crate::body::FieldName;
use crate::{
    Actor, Bead, BeadId, BeadType, Claim, Deletion, Edge, Estimate, Field, Labels, Line, Lineage, Mark,
    Metadata, Patch, Priority, Register, Slot, Stamp, Status, StatusGroup, Text, Timestamp, Title,
};

#[derive(Debug)]
pub(crate) struct Draft {
    /// The id in the file.
    id: BeadId,
    /// The id it was born with, when a collision gave it another.
    born: BeadId,
    created: Mark,
    marks: Marks,
    values: Values,
    deletion: Option<Deletion>,
    pub(super) comments: Vec<Comment>,
    pub(super) dependencies: Vec<Dependency>,
    kept: Kept,
    /// Values that a line of our own export gives exactly.
    exact_values: BTreeMap<FieldName, Value>,
    notices: Vec<String>,
}

#[derive(Debug)]
struct Values {
    title: Title,
    description: Text,
    priority: Priority,
    kind: BeadType,
    labels: Labels,
    design: Text,
    acceptance_criteria: Text,
    external_ref: Line,
    source_repo: Line,
    estimated_minutes: Option<Estimate>,
    due_at: Option<Timestamp>,
    defer_until: Option<Timestamp>,
    status: StatusGroup,
    assignee: Option<Actor>,
    assignee_expires: Option<Timestamp>,
    created_on_branch: Line,
    metadata: Map<String, Value>,
}

/// When which register was written, as far as the file tells.
#[derive(Debug)]
struct Marks {
    top: Mark,
    others: BTreeMap<FieldName, Mark>,
}

impl Marks {
    fn of(&self, field: Field) -> Mark {
        self.others.get(&FieldName(field)).unwrap_or(&self.top).clone()
    }

    /// `_at`, `_by` and `_v`, as the earlier store has them.
    fn read(fields: &mut Fields) -> Option<Self> {
        let by = fields.actor("_by");
        let top = Mark::new(fields.stamp("_at")?, by.unwrap_or_else(unknown_actor));
        let mut others = BTreeMap::new();
        if let Some(Value::Object(versions)) = fields.take("_v") {
            for (name, value) in &versions {
                let Some(mark) = time::read_mark(value) else { continue };
                let names: &[Field] = match name.as_str() {
                    "claim" | "assignee" => &[Field::Assignee, Field::AssigneeExpires],
                    "workflow" => &[Field::Status],
                    name => match Field::ALL.iter().position(|field| field.name() == name) {
                        Some(index) => &Field::ALL[index..=index],
                        None => &[],
                    },
                };
                others.extend(names.iter().map(|field| (FieldName(*field), mark.clone())));
            }
        }
        Some(Self { top, others })
    }
}

impl Draft {
    pub(super) fn id(&self) -> &BeadId {
        &self.id
    }

    pub(super) fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Takes an edge that stood in a file of its own. One without a time is as old as the bead.
    pub(super) fn attach_edge(&mut self, mut dependency: Dependency) {
        if dependency.edge.created.at() == Stamp::ZERO {
            let (at, by) = (self.created.at(), dependency.edge.created.by().clone());
            let created = Mark::new(at, by);
            dependency.edge.changed = dependency.edge.changed.max(created.clone());
            dependency.edge.created = created;
        }
        self.dependencies.push(dependency);
    }

    pub(super) fn mark_merged_edges(&mut self) {
        dependency::mark_merged(&mut self.dependencies);
    }

    /// The lineage that the file tells of.
    pub(crate) fn lineage(&self) -> Lineage {
        Lineage::new(self.born.clone(), self.created.at(), self.created.by().clone())
    }

    pub(crate) fn read(mut fields: Fields, exact: Option<Exact>) -> Result<Self, String> {
        let believed = exact.as_ref().is_some_and(|exact| exact::believed(exact, fields.rest()));
        let id = read_id(&mut fields)?;
        let mut draft = Self::read_fields(id, &mut fields);
        (draft.kept, draft.notices) = fields.finish();
        if let Some(exact) = exact {
            draft.born = exact.born.clone().unwrap_or_else(|| draft.id.clone());
            draft.created = Mark::new(exact.created, exact.created_by.clone());
            if believed {
                draft.believe(exact);
            }
        }
        if !draft.born.fits_a_birth() {
            return Err("the id is longer than 128 characters".to_owned());
        }
        draft.mark_merged_edges();
        Ok(draft)
    }

    fn read_fields(id: BeadId, fields: &mut Fields) -> Self {
        let times = Times::read(fields);
        let (status, mapped) = read_status(fields, &times);
        let marks = Marks::read(fields).unwrap_or_else(|| times.marks(&status));
        let values = read_values(fields, status, mapped, &times);
        let comments = read_comments(fields, &times, &marks);
        let dependencies = read_dependencies(fields, times.created.at());
        let mut draft = Self {
            born: id.clone(),
            id,
            created: times.created.clone(),
            marks,
            values,
            deletion: None,
            comments,
            dependencies,
            kept: Kept::new(),
            exact_values: BTreeMap::new(),
            notices: Vec::new(),
        };
        if mapped.tombstone {
            let at = fields.stamp("deleted_at").unwrap_or_else(|| times.updated.at());
            let by = fields.actor("deleted_by").unwrap_or_else(unknown_actor);
            let reason = fields.text("delete_reason");
            draft.deletion = Some(Deletion { mark: draft.last_word(Mark::new(at, by)), reason });
        }
        draft
    }

    /// A deletion beats everything the line says of the bead, or the bead would be alive.
    fn last_word(&self, mark: Mark) -> Mark {
        let registers = self.marks.others.values().chain([&self.marks.top]);
        let newest = registers.chain(self.comments.iter().map(|comment| &comment.mark)).max();
        match newest {
            Some(newest) if *newest > mark => Mark::new(time::after(newest.at()), mark.by().clone()),
            _ => mark,
        }
    }

    fn believe(&mut self, exact: Exact) {
        self.marks = Marks { top: Mark::new(exact.at, exact.by), others: exact.v };
        self.values.created_on_branch = exact.created_on_branch;
        if self.values.status.status == Status::Closed {
            self.values.status.closed_on_branch = exact.closed_on_branch;
        }
        if self.values.assignee.is_some() {
            self.values.assignee_expires = exact.assignee_expires;
        }
        let (slots, comments): (Vec<_>, Vec<_>) =
            self.comments.drain(..).partition(|comment| comment.slot.is_some());
        let stamped = comments.into_iter().zip(exact.comments).map(|(comment, (at, slot))| {
            let mark = Mark::new(at, comment.mark.by().clone());
            Comment { mark, slot, ..comment }
        });
        self.comments.extend(stamped);
        let slot = slots.into_iter().zip(exact.notes).map(|(comment, mark)| Comment { mark, ..comment });
        self.comments.extend(slot);
        for (dependency, marks) in self.dependencies.iter_mut().zip(exact.dependencies) {
            if let Some((created, changed)) = marks {
                (dependency.edge.created, dependency.edge.changed) = (created, changed);
            }
        }
        if let (Some(deletion), Some(mark)) = (&mut self.deletion, exact.deleted) {
            deletion.mark = mark;
        }
        self.exact_values = exact.values;
    }

    /// The bead, under the lineage it has here. `in_file` tells which ids the file holds: an edge to another one is kept
    /// as it was, whether or not this replica happens to know its end, so that every replica keeps the same.
    pub(crate) fn bead(
        &self,
        lineage: &Lineage,
        known: Option<&Bead>,
        in_file: impl Fn(&BeadId) -> bool,
    ) -> Result<Bead, String> {
        let metadata = self.metadata(in_file)?;
        let (values, marks) = (&self.values, &self.marks);
        fn at<T: Clone + PartialEq>(marks: &Marks, field: Field, value: &T) -> Option<Register<T>> {
            Some(Register::new(marks.of(field), value.clone()))
        }
        let mut patch = Patch {
            title: at(marks, Field::Title, &values.title),
            description: at(marks, Field::Description, &values.description),
            priority: at(marks, Field::Priority, &values.priority),
            kind: at(marks, Field::Type, &values.kind.into()),
            labels: at(marks, Field::Labels, &values.labels),
            design: at(marks, Field::Design, &values.design),
            acceptance_criteria: at(marks, Field::AcceptanceCriteria, &values.acceptance_criteria),
            external_ref: at(marks, Field::ExternalRef, &values.external_ref),
            source_repo: at(marks, Field::SourceRepo, &values.source_repo),
            estimated_minutes: at(marks, Field::EstimatedMinutes, &values.estimated_minutes),
            due_at: at(marks, Field::DueAt, &values.due_at),
            defer_until: at(marks, Field::DeferUntil, &values.defer_until),
            metadata: at(marks, Field::Metadata, &metadata),
            status: at(marks, Field::Status, &values.status),
            claim: Some(Claim {
                mark: marks.of(Field::Assignee),
                assignee: values.assignee.clone(),
                expires_mark: marks.of(Field::AssigneeExpires),
                expires: values.assignee_expires,
            }),
            notes: comment::notes(lineage, &self.comments, known),
            deletion: self.deletion.clone(),
            created_on_branch: values.created_on_branch.clone(),
        };
        for (FieldName(field), value) in &self.exact_values {
            patch.overlay(Patch::of_json(*field, value, &marks.of(*field))?);
        }
        patch.into_bead().ok_or_else(|| "a field is missing".to_owned())
    }

    /// Present edges, with what the file says of each.
    pub(crate) fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.dependencies.iter().map(|dependency| &dependency.edge)
    }

    fn metadata(&self, in_file: impl Fn(&BeadId) -> bool) -> Result<Metadata, String> {
        let mut kept: Map<String, Value> = self.kept.clone().into_iter().collect();
        let inexact = |edge: &&Dependency| {
            !edge.edge.deleted && (!edge.exact || edge.to == self.id || !in_file(&edge.to))
        };
        let originals: Vec<_> =
            self.dependencies.iter().filter(inexact).map(|edge| edge.original.clone()).collect();
        if !originals.is_empty() {
            let unread = kept.remove("dependencies");
            let unread = unread.as_ref().and_then(Value::as_array).into_iter().flatten().cloned();
            kept.insert("dependencies".into(), unread.chain(originals).collect());
        }
        let mut metadata = self.values.metadata.clone();
        if !kept.is_empty() {
            metadata.insert(KEPT.into(), Value::Object(kept));
        }
        metadata.try_into().map_err(|error: crate::Error| error.to_string())
    }
}

struct Times {
    created: Mark,
    updated: Mark,
    closed: Option<Mark>,
}

impl Times {
    /// A missing time is the nearest one that is there.
    fn read(fields: &mut Fields) -> Self {
        let by = fields.actor("created_by").unwrap_or_else(unknown_actor);
        let (created, updated) = (fields.stamp("created_at"), fields.stamp("updated_at"));
        let closed_by = fields.actor("closed_by");
        let closed = fields.rest().get("closed_at").map(time::read);
        let closed = match closed {
            Some(time::Time::At(stamp)) => Some(stamp),
            _ => None,
        };
        let deleted = match fields.rest().get("deleted_at").map(time::read) {
            Some(time::Time::At(stamp)) => Some(stamp),
            _ => None,
        };
        let birth = created.or(updated).or(closed).or(deleted).unwrap_or(Stamp::ZERO);
        let created = Mark::new(birth, by);
        let updated = updated.unwrap_or(birth).max(birth);
        let writer = fields
            .actor("updated_by")
            .unwrap_or_else(|| if updated == birth { created.by().clone() } else { unknown_actor() });
        let updated = Mark::new(updated, writer);
        let closed = closed.map(|at| Mark::new(at, closed_by.unwrap_or_else(|| updated.by().clone())));
        Self { created, updated, closed }
    }

    fn marks(&self, status: &StatusGroup) -> Marks {
        let mut others = BTreeMap::new();
        if let Some(closed) = self.closed.as_ref().filter(|_| status.status == Status::Closed)
            && *closed != self.updated
        {
            others.insert(FieldName(Field::Status), closed.clone());
        }
        Marks { top: self.updated.clone(), others }
    }
}

fn read_id(fields: &mut Fields) -> Result<BeadId, String> {
    match fields.take("id") {
        Some(Value::String(id)) => id.parse().map_err(|error: crate::Error| error.to_string()),
        Some(_) => Err("the id is not text".to_owned()),
        None => Err("it has no id".to_owned()),
    }
}

fn read_status(fields: &mut Fields, times: &Times) -> (StatusGroup, MappedStatus) {
    let word = fields.string("status").unwrap_or_default();
    let mapped = kind::mapped_status(&word, times.closed.is_some());
    if !mapped.exact {
        fields.keep("status", Value::String(word));
    }
    let mut group = StatusGroup::from(mapped.status);
    if mapped.status == Status::Closed {
        // Kept only of beads that are open again.
        fields.take("closed_at");
        let name = if fields.rest().contains_key("close_reason") { "close_reason" } else { "closed_reason" };
        group.closed_reason = fields.text(name);
        group.closed_on_branch = fields.line("closed_on_branch");
    }
    (group, mapped)
}

fn read_values(fields: &mut Fields, status: StatusGroup, mapped: MappedStatus, times: &Times) -> Values {
    let kind = match fields.take_first(&["issue_type", "type"]) {
        None => BeadType::Task,
        Some((_, value)) => match value.as_str().and_then(kind::mapped_type) {
            Some(kind) => kind,
            None => {
                fields.keep("issue_type", value);
                BeadType::Task
            }
        },
    };
    let mut defer_until = fields.timestamp("defer_until");
    // A date that had passed when the line was last written does not wake what is shelved.
    if mapped.shelved && defer_until.is_none_or(|until| until.ms() <= times.updated.at().ms()) {
        if let Some(until) = defer_until {
            fields.keep("defer_until", Value::String(until.to_string()));
        }
        defer_until = Some(time::for_ever());
    }
    let assignee = fields.actor("assignee");
    let metadata = match fields.take("metadata") {
        Some(Value::Object(map)) if !map.contains_key(KEPT) => map,
        Some(other) => {
            fields.keep("metadata", other);
            Map::new()
        }
        None => Map::new(),
    };
    Values {
        title: fields.title("(untitled)"),
        description: fields.text("description"),
        priority: fields.priority(),
        kind,
        labels: fields.labels(),
        design: fields.text("design"),
        acceptance_criteria: fields.text("acceptance_criteria"),
        external_ref: fields.line("external_ref"),
        source_repo: fields.line("source_repo"),
        estimated_minutes: fields.estimate(),
        due_at: fields.timestamp("due_at"),
        defer_until,
        status,
        assignee_expires: if assignee.is_some() { fields.timestamp("assignee_expires") } else { None },
        assignee,
        created_on_branch: fields.line("created_on_branch"),
        metadata,
    }
}

/// `comments`, and `notes`: one text in Go's `bd`, a list in the earlier store.
fn read_comments(fields: &mut Fields, times: &Times, marks: &Marks) -> Vec<Comment> {
    let mut comments = Vec::new();
    let mut unread = Vec::new();
    let mut lists = fields.list("comments");
    let notes = match fields.take("notes") {
        Some(Value::Array(list)) => {
            lists.extend(list);
            None
        }
        Some(Value::String(text)) if !text.is_empty() => Some(text),
        Some(Value::String(_)) | None => None,
        Some(other) => {
            fields.keep("notes", other);
            None
        }
    };
    for value in lists {
        match value.as_object().and_then(|map| Comment::read(map, times.created.at())) {
            Some(comment) => comments.push(comment),
            None => unread.push(value),
        }
    }
    if !unread.is_empty() {
        fields.keep_with_notice("comments", Value::Array(unread), "are not all comments");
    }
    let notes = notes.and_then(|text| text.replace('\0', "").parse().ok());
    comments.extend(notes.map(|text| Comment { mark: marks.top.clone(), text, slot: Some(Slot::Notes) }));
    comments
}

fn read_dependencies(fields: &mut Fields, created: Stamp) -> Vec<Dependency> {
    let mut unread = Vec::new();
    let mut dependencies = Vec::new();
    for value in fields.list("dependencies") {
        match value.as_object().and_then(|map| Dependency::read(map, created)) {
            Some(dependency) => dependencies.push(dependency),
            None => unread.push(value),
        }
    }
    if !unread.is_empty() {
        fields.keep_with_notice("dependencies", Value::Array(unread), "do not all name a bead");
    }
    dependencies
}
