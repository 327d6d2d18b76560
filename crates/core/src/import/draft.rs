//! A parsed line of `issues.jsonl`: everything about a bead except what depends on other lines.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::comment::{self, Comment};
use super::dependency::{self, Dependency};
use super::exact::{self, Exact};
use super::fields::Fields;
use super::legacy_extras::LegacyExtras;
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

/// An imported bead before it is compared with the store.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The id in the file.
    id: BeadId,
    /// The id at its creation, which differs if a collision gave it another.
    born: BeadId,
    created: Mark,
    marks: Marks,
    values: Values,
    deletion: Option<Deletion>,
    pub(super) comments: Vec<Comment>,
    pub(super) dependencies: Vec<Dependency>,
    kept: Kept,
    /// Only for a line of a legacy store.
    legacy_extras: Option<LegacyExtras>,
    /// Exact values from a line of our own export.
    exact_values: BTreeMap<FieldName, Value>,
    /// Whether the stamps are the exact ones of our own export.
    trusted: bool,
    /// Whether the line omits a priority of 0.
    omits_zero: bool,
    /// Whether it is a memory of the Go `bd`, which has no times.
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

    /// Returns whether the line omits its priority because it is 0.
    pub(super) fn omits_zero(&self) -> bool {
        self.omits_zero
    }

    /// Returns the custom words of its status and type.
    pub(super) fn words(&self) -> impl Iterator<Item = &Word> {
        [&self.values.status.word, &self.values.kind.word].into_iter().flatten()
    }

    /// Returns whether the line has an assignee but comes from a tracker without leases, so that its claim
    /// needs one.
    pub(super) fn lacks_lease(&self) -> bool {
        !self.trusted && self.values.assignee.is_some() && self.values.assignee_expires.is_none()
    }

    /// Returns whether the bead was created at this time by this actor.
    pub(super) fn is_born(&self, created: &Mark) -> bool {
        self.created == *created
    }

    /// Keeps the deletion of a bead that lost its id to this one.
    pub(super) fn keep_lost_birth(&mut self, lineage: &Lineage, deletion: &Deletion) {
        self.legacy_extras.get_or_insert_default().keep_lost_birth(lineage, deletion);
    }

    /// Adds a note from a separate file, unless the line of the bead has it too.
    pub(super) fn attach_note(&mut self, comment: Comment) {
        if comment.id.is_none() || !self.comments.contains(&comment) {
            self.comments.push(comment);
        }
    }

    /// Reads `{"_type": "memory", "key": K, "value": V}`, as the Go `bd remember` writes it. The id is
    /// derived from the key.
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

    /// Creates a placeholder for a deleted bead whose content is unknown. It is created at the time of the
    /// deletion and written by the same actor, so that the deletion is its newest write.
    pub(super) fn only_deleted(id: BeadId, at: Stamp, by: &Actor) -> Self {
        let title = Value::String(ONLY_DELETED.to_owned());
        let mut fields = Fields::new([("title".to_owned(), title)].into_iter().collect());
        let mut draft = Self::read_fields(id, &mut fields);
        draft.created = Mark::new(at, unknown_actor());
        draft.marks = Marks { top: Mark::new(at, by.clone()), others: BTreeMap::new() };
        draft
    }

    /// Adds an edge from a separate file. An edge without a time gets the creation time of the bead.
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

    /// Returns the lineage according to the file.
    pub(crate) fn lineage(&self) -> Lineage {
        Lineage::new(self.born.clone(), self.created.at(), self.created.by().clone())
    }

    pub(crate) fn read(mut fields: Fields, exact: Option<Exact>) -> Result<Self, String> {
        let trusted = exact.as_ref().is_some_and(|exact| exact::is_trusted(exact, fields.rest()));
        let id = read_id(&mut fields)?;
        let omits_zero = exact.is_none() && fields.omits_zero_priority();
        let mut draft = Self::read_fields(id, &mut fields);
        if omits_zero {
            (draft.values.priority, draft.omits_zero) = (Priority::HIGHEST, true);
        }
        (draft.kept, draft.notices) = fields.finish();
        if let Some(exact) = exact {
            draft.born = exact.born.clone().unwrap_or_else(|| draft.id.clone());
            draft.created = Mark::new(exact.created, exact.created_by.clone());
            draft.trusted = trusted;
            if trusted {
                draft.apply_exact(exact);
            }
        }
        if !draft.born.is_valid_birth_id() {
            return Err("the id is longer than 128 characters".to_owned());
        }
        draft.mark_merged_edges();
        Ok(draft)
    }

    fn read_fields(id: BeadId, fields: &mut Fields) -> Self {
        let times = Times::read(fields);
        let (status, mapped, legacy_extras) = read_status(fields, &times);
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
            legacy_extras,
            exact_values: BTreeMap::new(),
            trusted: false,
            omits_zero: false,
            memory: false,
            notices: Vec::new(),
        };
        if mapped.tombstone {
            let at = fields.stamp("deleted_at").unwrap_or_else(|| times.updated.at());
            let by = fields.actor("deleted_by").unwrap_or_else(unknown_actor);
            let reason = fields.text("delete_reason");
            draft.deletion = Some(Deletion::new(draft.after_all_writes(Mark::new(at, by)), reason));
        }
        draft
    }

    /// Returns a mark for the deletion that is newer than all other marks of the line. Otherwise the bead
    /// would be live.
    fn after_all_writes(&self, mark: Mark) -> Mark {
        let registers = self.marks.others.values().chain([&self.marks.top]);
        let newest = registers.chain(self.comments.iter().map(|comment| &comment.mark)).max();
        match newest {
            Some(newest) if *newest > mark => Mark::new(time::after(newest.at()), mark.by().clone()),
            _ => mark,
        }
    }

    /// Replaces the approximate stamps and values by the exact ones of our own export.
    fn apply_exact(&mut self, exact: Exact) {
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

    /// Returns the marks to write. Where an earlier import of the same line lost data, the mark is raised
    /// above the one of that import: older versions dropped custom words, and a memory may have a new value.
    /// The file has no times that could decide this.
    fn winning_marks(&self, known: Option<&Bead>) -> Marks {
        let mut marks = self.marks.clone();
        let Some(known) = known else { return marks };
        let mut outlast = |field: Field, differs: bool| {
            let there = known.mark(field);
            if differs && !self.trusted && *there >= marks.of(field) && is_imported(there.at()) {
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

    /// Builds the bead with its lineage in the store. `in_file` returns whether the file has a bead with that
    /// id. The original of an edge to any other bead is kept in the metadata, even if this replica knows the
    /// bead, so that all replicas keep the same metadata.
    pub(crate) fn bead(
        &self,
        lineage: &Lineage,
        known: Option<&Bead>,
        in_file: impl Fn(&BeadId) -> bool,
    ) -> Result<Bead, String> {
        let metadata = self.metadata(lineage, in_file)?;
        let (values, marks) = (&self.values, &self.winning_marks(known));
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
            patch.overlay(Patch::from_json(*field, value, &marks.of(*field))?);
        }
        patch.into_bead().ok_or_else(|| "a field is missing".to_owned())
    }

    /// Returns the edges that the line lists.
    pub(crate) fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.dependencies.iter().map(|dependency| &dependency.edge)
    }

    fn metadata(&self, lineage: &Lineage, in_file: impl Fn(&BeadId) -> bool) -> Result<Metadata, String> {
        let mut kept: Map<String, Value> = self.kept.clone().into_iter().collect();
        let extras = self.legacy_extras.as_ref().and_then(|extras| extras.kept(lineage, &self.comments));
        kept.extend(extras.map(|extras| (LegacyExtras::NAME.to_owned(), extras)));
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
