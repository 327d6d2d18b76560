//! Reads the values of a line into our types.

use serde_json::{Map, Value};

use super::KEPT;
use super::comment::Comment;
use super::dependency::Dependency;
use super::fields::Fields;
use super::kind::{self, MappedStatus};
use super::legacy_extras::LegacyExtras;
use super::marks::{Marks, Times};
use crate::{
    Actor, Estimate, Labels, Line, Priority, Slot, Stamp, Status, StatusGroup, Text, Timestamp, Title,
    TypeGroup,
};

/// The values of all fields of a bead.
#[derive(Debug)]
pub(super) struct Values {
    pub title: Title,
    pub description: Text,
    pub priority: Priority,
    pub kind: TypeGroup,
    pub labels: Labels,
    pub design: Text,
    pub acceptance_criteria: Text,
    pub external_ref: Line,
    pub source_repo: Line,
    pub estimated_minutes: Option<Estimate>,
    pub due_at: Option<Timestamp>,
    pub defer_until: Option<Timestamp>,
    pub status: StatusGroup,
    pub assignee: Option<Actor>,
    pub assignee_expires: Option<Timestamp>,
    pub created_on_branch: Line,
    pub metadata: Map<String, Value>,
}

/// Reads the status, and the data to keep from a line of a legacy store.
pub(super) fn read_status(
    fields: &mut Fields,
    times: &Times,
) -> (StatusGroup, MappedStatus, Option<LegacyExtras>) {
    // The last versions of the legacy store have other statuses, in one of two fields.
    let is_legacy = fields.rest().contains_key("_at");
    let tracked = if is_legacy { fields.string("tracker_state") } else { None };
    let text = fields.string("status");
    let named = [("status", &text), ("tracker_state", &tracked)];
    let words = named.into_iter().filter_map(|(name, word)| Some((name.to_owned(), word.clone()?.into())));
    let words: Map<String, Value> = words.collect();
    let text = tracked.or(text).unwrap_or_default();
    let legacy = if is_legacy { kind::legacy_status(&text) } else { None };
    let mapped = legacy.unwrap_or_else(|| kind::mapped_status(&text, times.closed.is_some()));
    if !mapped.exact {
        fields.keep("status", Value::String(text));
    }
    let mut group = StatusGroup { word: mapped.word.clone(), ..StatusGroup::from(mapped.status) };
    if mapped.status == Status::Closed {
        // The marks have the close time already. It is kept in the metadata only for beads that are open
        // again.
        fields.take("closed_at");
        let name = if fields.rest().contains_key("close_reason") { "close_reason" } else { "closed_reason" };
        group.closed_reason = fields.text(name);
        group.closed_on_branch = fields.line("closed_on_branch");
    }
    let extras = is_legacy.then(|| {
        let mut extras = LegacyExtras::default();
        extras.keep_status(words, group.status, group.word.as_ref());
        extras
    });
    (group, mapped, extras)
}

fn read_type(fields: &mut Fields) -> TypeGroup {
    let Some((_, value)) = fields.take_first(&["issue_type", "type"]) else { return TypeGroup::default() };
    let (kind, exact) = value.as_str().map(kind::mapped_type).unwrap_or_default();
    if !exact {
        fields.keep("issue_type", value);
    }
    kind
}

pub(super) fn read_values(fields: &mut Fields, status: StatusGroup) -> Values {
    let kind = read_type(fields);
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
        defer_until: fields.timestamp("defer_until"),
        status,
        assignee_expires: if assignee.is_some() { fields.timestamp("assignee_expires") } else { None },
        assignee,
        created_on_branch: fields.line("created_on_branch"),
        metadata,
    }
}

/// Reads `comments` and `notes`. `notes` is one text in the Go `bd`, and a list in a legacy store.
pub(super) fn read_comments(fields: &mut Fields, times: &Times, marks: &Marks) -> Vec<Comment> {
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
        fields.keep_with_notice("comments", Value::Array(unread), "has entries that are not comments");
    }
    let notes = notes.and_then(|text| text.replace('\0', "").parse().ok());
    comments.extend(notes.map(|text| Comment {
        id: None,
        mark: marks.top.clone(),
        text,
        slot: Some(Slot::Notes),
    }));
    comments
}

pub(super) fn read_dependencies(fields: &mut Fields, created: Stamp) -> Vec<Dependency> {
    let mut unread = Vec::new();
    let mut dependencies = Vec::new();
    for value in fields.list("dependencies") {
        match value.as_object().and_then(|map| Dependency::read(map, created)) {
            Some(dependency) => dependencies.push(dependency),
            None => unread.push(value),
        }
    }
    if !unread.is_empty() {
        fields.keep_with_notice("dependencies", Value::Array(unread), "has entries that name no bead");
    }
    dependencies
}
