//! A line of `issues.jsonl`, understood: everything about a bead but what depends on other lines.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::comment::{self, Comment};
use super::dependency::{self, Dependency};
use super::earlier::Earlier;
use super::exact::{self, Exact};
use super::fields::Fields;
use super::marks::{Marks, Times};
use super::values::{Values, read_comments, read_dependencies, read_status, read_values};
use super::{KEPT, Kept, ONLY_DELETED, is_imported, time, unknown_actor};
use crate::body::FieldName;
use crate::canonical::hex;
use crate::words::MEMORY;
use crate::{
    Actor, Bead, BeadId, Claim, Deletion, Edge, Field, Lineage, Mark, Metadata, Patch, Priority, Register,
    Stamp, Status, Word,
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
    /// Of a line of the earlier store.
    earlier: Option<Earlier>,
    /// Values that a line of our own export gives exactly.
    exact_values: BTreeMap<FieldName, Value>,
    /// The stamps are those of our own export.
    believed: bool,
    /// The priority was left out because it was 0.
    omits_zero: bool,
    /// It is a memory of Go's `bd`, which has no times.
    memory: bool,
    notices: Vec<String>,
}

impl Draft {
    pub(super) fn id(&self) -> &BeadId {
        &self.id
    }

    pub(super) fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Whether the line left its priority out because it was 0.
    pub(super) fn omits_zero(&self) -> bool {
        self.omits_zero
    }

    /// Words for its status and type that are kept beside ours.
    pub(super) fn words(&self) -> impl Iterator<Item = &Word> {
        [&self.values.status.word, &self.values.kind.word].into_iter().flatten()
    }

    /// Whether the line comes from a tracker without leases, so that its claim needs a fresh one.
    pub(super) fn lacks_lease(&self) -> bool {
        !self.believed && self.values.assignee.is_some() && self.values.assignee_expires.is_none()
    }

    /// Whether the bead was created at this moment by this actor.
    pub(super) fn is_born(&self, created: &Mark) -> bool {
        self.created == *created
    }

    /// Keeps the deletion of a bead that lost the id to this one.
    pub(super) fn keep_lost_birth(&mut self, lineage: &Lineage, deletion: &Deletion) {
        self.earlier.get_or_insert_default().keep_lost_birth(lineage, deletion);
    }

    /// Takes a note that stood in a file of its own, unless the line of the bead has it too.
    pub(super) fn attach_note(&mut self, comment: Comment) {
        if comment.id.is_none() || !self.comments.contains(&comment) {
            self.comments.push(comment);
        }
    }

    /// `{"_type": "memory", "key": K, "value": V}`, as Go's `bd remember` writes it. The id follows from the key.
    pub(crate) fn memory(line: &Map<String, Value>) -> Result<Self, String> {
        let text = |name: &str| line.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (Some(key), Some(value)) = (text("key"), text("value")) else {
            return Err("it is a memory without a key or a value".to_owned());
        };
        let id = format!("memory-{}", &hex(&Sha256::digest(key))[..12]);
        let id = id.parse().map_err(|error: crate::Error| error.to_string())?;
        let mut fields: Map<String, Value> = line.clone();
        fields.remove("value");
        for (name, value) in [
            ("title", key.to_owned()),
            ("description", value.to_owned()),
            ("issue_type", MEMORY.to_owned()),
            ("external_ref", format!("{MEMORY}:{key}")),
        ] {
            fields.insert(name.to_owned(), Value::String(value));
        }
        let mut fields = Fields::new(fields);
        let mut draft = Self::read_fields(id, &mut fields);
        (draft.kept, draft.notices) = fields.finish();
        draft.memory = true;
        Ok(draft)
    }

    /// A bead of which only the deletion is known: born at that moment, written by `by`, so that the deletion comes last.
    pub(super) fn only_deleted(id: BeadId, at: Stamp, by: &Actor) -> Self {
        let title = Value::String(ONLY_DELETED.to_owned());
        let mut fields = Fields::new([("title".to_owned(), title)].into_iter().collect());
        let mut draft = Self::read_fields(id, &mut fields);
        draft.created = Mark::new(at, unknown_actor());
        draft.marks = Marks { top: Mark::new(at, by.clone()), others: BTreeMap::new() };
        draft
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
        let omits_zero = exact.is_none() && fields.omit_zero_priority();
        let mut draft = Self::read_fields(id, &mut fields);
        if omits_zero {
            (draft.values.priority, draft.omits_zero) = (Priority::HIGHEST, true);
        }
        (draft.kept, draft.notices) = fields.finish();
        if let Some(exact) = exact {
            draft.born = exact.born.clone().unwrap_or_else(|| draft.id.clone());
            draft.created = Mark::new(exact.created, exact.created_by.clone());
            draft.believed = believed;
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
        let (status, mapped, earlier) = read_status(fields, &times);
        let marks = Marks::read(fields).unwrap_or_else(|| times.marks(&status));
        let values = read_values(fields, status);
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
            earlier,
            exact_values: BTreeMap::new(),
            believed: false,
            omits_zero: false,
            memory: false,
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

    /// Marks that win over what an earlier import made of the same line: one that kept no words, or, of a memory, one with
    /// another value. A file tells no times that could decide this.
    fn marks_here(&self, known: Option<&Bead>) -> Marks {
        let mut marks = self.marks.clone();
        let Some(known) = known else { return marks };
        let mut outlast = |field: Field, differs: bool| {
            let there = known.mark(field);
            if differs && !self.believed && *there >= marks.of(field) && is_imported(there.at()) {
                let later = Mark::new(time::after(there.at()), there.by().clone());
                marks.others.insert(FieldName(field), later);
            }
        };
        let lost = |here: Option<&Word>, ours: &Option<Word>| here.is_none() && ours.is_some();
        let (status, kind) = (&known.status, &known.kind);
        let same_status = status.mark == self.marks.of(Field::Status);
        outlast(Field::Status, same_status && lost(status.value.word.as_ref(), &self.values.status.word));
        let same_type = kind.mark == self.marks.of(Field::Type);
        outlast(Field::Type, same_type && lost(kind.value.word.as_ref(), &self.values.kind.word));
        if self.memory {
            outlast(Field::Description, known.description.value != self.values.description);
        }
        marks
    }

    /// The bead, under the lineage it has here. `in_file` tells which ids the file holds: an edge to another one is kept
    /// as it was, whether or not this replica happens to know its end, so that every replica keeps the same.
    pub(crate) fn bead(
        &self,
        lineage: &Lineage,
        known: Option<&Bead>,
        in_file: impl Fn(&BeadId) -> bool,
    ) -> Result<Bead, String> {
        let metadata = self.metadata(lineage, in_file)?;
        let (values, marks) = (&self.values, &self.marks_here(known));
        fn at<T: Clone + PartialEq>(marks: &Marks, field: Field, value: &T) -> Option<Register<T>> {
            Some(Register::new(marks.of(field), value.clone()))
        }
        let mut patch = Patch {
            title: at(marks, Field::Title, &values.title),
            description: at(marks, Field::Description, &values.description),
            priority: at(marks, Field::Priority, &values.priority),
            kind: at(marks, Field::Type, &values.kind),
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

    fn metadata(&self, lineage: &Lineage, in_file: impl Fn(&BeadId) -> bool) -> Result<Metadata, String> {
        let mut kept: Map<String, Value> = self.kept.clone().into_iter().collect();
        let earlier = self.earlier.as_ref().and_then(|earlier| earlier.kept(lineage, &self.comments));
        kept.extend(earlier.map(|earlier| (Earlier::NAME.to_owned(), earlier)));
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

fn read_id(fields: &mut Fields) -> Result<BeadId, String> {
    match fields.take("id") {
        Some(Value::String(id)) => id.parse().map_err(|error: crate::Error| error.to_string()),
        Some(_) => Err("the id is not text".to_owned()),
        None => Err("it has no id".to_owned()),
    }
}
