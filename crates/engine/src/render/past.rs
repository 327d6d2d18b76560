//! Answers about history: `log`, `blame`, `diff` and `undo`.

use std::fmt::Write;

use beads_core::query::DifferenceKind;
use beads_core::{Actor, BeadId, Field, FieldChange, Stamp, Text, Title, counted};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::answer::EdgeAnswer;
use super::style::Style;
use super::text::edge_line;
use super::value::value;
use crate::escape::escape;
use crate::request::Output;

/// The history of a bead.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LogAnswer {
    /// The bead.
    pub id: BeadId,
    /// The writes, oldest first.
    pub writes: Vec<WriteAnswer>,
    /// Whether all earlier commits could be read.
    pub complete: bool,
}

/// Everything that one operation did to the bead.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WriteAnswer {
    /// The time of the write.
    pub time: String,
    /// The stamp of the write.
    pub at: Stamp,
    /// The actor.
    pub by: Actor,
    /// Whether it created the bead.
    pub created: bool,
    /// The changed fields.
    pub changes: Vec<FieldChange>,
    /// The note it added.
    pub note: Option<Text>,
    /// Notes of the same write beyond the first, such as further evidence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_notes: Vec<Text>,
    /// The reason, if it deleted the bead.
    pub deleted: Option<Text>,
    /// The dependencies of the bead that it added or removed.
    pub dependencies: Vec<EdgeAnswer>,
}

/// Who set a field, and when.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BlameAnswer {
    /// The field.
    pub field: Field,
    /// Its value.
    pub value: Value,
    /// When it was set.
    pub time: String,
    /// The stamp of the write.
    pub at: Stamp,
    /// The actor who set it.
    pub by: Actor,
}

/// How a bead differs between two points in time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DifferenceAnswer {
    /// The bead.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The kind of difference.
    pub kind: DifferenceKind,
    /// The changed fields.
    pub changes: Vec<FieldChange>,
    /// The number of new notes.
    pub notes: usize,
}

/// The result of undoing an operation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UndoAnswer {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The changed beads.
    pub beads: Vec<UndoneBead>,
    /// The dependencies that were added or removed.
    pub dependencies: Vec<EdgeAnswer>,
}

/// A bead that an undo changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UndoneBead {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// `deleted` when its creation was undone, `restored` when its deletion was, else `changed`.
    pub action: &'static str,
    /// The changed fields.
    pub changes: Vec<FieldChange>,
}

/// Writes the result of an undo.
pub fn undone(out: &mut String, answer: &UndoAnswer, output: &Output, style: Style) {
    if output.quiet {
        return;
    }
    let would = if answer.dry_run { "would have " } else { "" };
    for one in &answer.beads {
        let title = style.fit(&escape(one.title.as_str()), one.id.as_str().len() + 20);
        let mut line = format!("{would}{} {}: {title}", one.action, style.id(one.id.as_str()));
        changes(&mut line, &one.changes, style);
        let _ = writeln!(out, "{}", style.wrapped(&line, "    "));
    }
    for edge in &answer.dependencies {
        edge_line(out, would, edge);
    }
}

/// Writes the history of a bead.
pub fn log(out: &mut String, log: &LogAnswer, style: Style) {
    for write in &log.writes {
        let (time, by) = (style.moment(write.at.into()), escape(write.by.as_str()));
        let mut line = format!("{}  {by}", style.faint(&time));
        if write.created {
            let title = write.changes.iter().find(|change| change.field == Field::Title);
            let title = title.map(|change| value(Field::Title, &change.to, style)).unwrap_or_default();
            let used = time.width() + by.width() + log.id.as_str().len() + 14;
            let _ = write!(line, "  created {}: {}", style.id(log.id.as_str()), style.fit(&title, used));
        } else {
            changes(&mut line, &write.changes, style);
        }
        for edge in &write.dependencies {
            let sign = if edge.status == "added" { '+' } else { '-' };
            let _ = write!(line, "  {sign}{} {}", edge.kind, style.id(edge.depends_on_id.as_str()));
        }
        for note in write.note.iter().chain(&write.more_notes) {
            let first = note.as_str().lines().next().unwrap_or_default();
            let _ = write!(line, "  noted: {}", style.fit(&escape(first), 50));
        }
        if let Some(reason) = &write.deleted {
            let reason = reason.non_empty().map(|reason| format!(": {}", escape(reason))).unwrap_or_default();
            let _ = write!(line, "  deleted{reason}");
        }
        let _ = writeln!(out, "{}", style.wrapped(&line, "    "));
    }
    if !log.complete {
        out.push_str("… earlier writes are in commits that were not read\n");
    }
}

/// Writes who set each field.
pub fn blame(out: &mut String, fields: &[BlameAnswer], style: Style) {
    for one in fields {
        let (field, by, time) = (one.field.name(), escape(one.by.as_str()), style.moment(one.at.into()));
        let used = time.width() + by.width() + field.len() + 6;
        let value = style.fit(&value(one.field, &one.value, style), used);
        let _ = writeln!(out, "{}  {by}  {field}: {value}", style.faint(&time));
    }
}

/// Writes differences, one bead per line.
pub fn diff(out: &mut String, differences: &[DifferenceAnswer], style: Style) {
    for one in differences {
        let kind = match one.kind {
            DifferenceKind::Created => "created",
            DifferenceKind::Changed => "changed",
            DifferenceKind::Closed => "closed",
            DifferenceKind::Deleted => "deleted",
            DifferenceKind::Restored => "restored",
        };
        let title = style.fit(&escape(one.title.as_str()), one.id.as_str().len() + 12);
        let mut line = format!("{kind:<8} {}: {title}", style.id(one.id.as_str()));
        if matches!(one.kind, DifferenceKind::Changed | DifferenceKind::Restored) {
            changes(&mut line, &one.changes, style);
        }
        if one.notes > 0 {
            let _ = write!(line, "  {}", counted(one.notes, "new note"));
        }
        let _ = writeln!(out, "{}", style.wrapped(&line, "    "));
    }
}

fn changes(out: &mut String, changes: &[FieldChange], style: Style) {
    for change in changes {
        let shown = |json: &Value| style.fit(&value(change.field, json, style), 60);
        let _ = write!(out, "  {}: {} → {}", change.field.name(), shown(&change.from), shown(&change.to));
    }
}
