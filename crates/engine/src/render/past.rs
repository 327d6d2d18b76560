//! Answers about the past: `log`, `blame` and `diff`.

use std::fmt::Write;

use beads_core::query::DifferenceKind;
use beads_core::{Actor, BeadId, Field, FieldChange, Stamp, Text, Title};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::answer::EdgeAnswer;
use super::style::Style;
use super::text::edge_line;
use crate::escape::escape;
use crate::request::Output;

#[derive(Debug, Serialize, JsonSchema)]
pub struct LogAnswer {
    pub id: BeadId,
    /// Oldest first.
    pub writes: Vec<WriteAnswer>,
    /// Whether all commits before could be looked at.
    pub complete: bool,
}

/// Everything that one operation did to the bead.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WriteAnswer {
    pub time: String,
    pub at: Stamp,
    pub by: Actor,
    pub created: bool,
    pub changes: Vec<FieldChange>,
    pub note: Option<Text>,
    /// Notes of the same write beyond the first, such as further evidence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_notes: Vec<Text>,
    pub deleted: Option<Text>,
    /// Dependencies of the bead that came or went.
    pub dependencies: Vec<EdgeAnswer>,
}

/// Who set a field, and when.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BlameAnswer {
    pub field: Field,
    pub value: Value,
    pub time: String,
    pub at: Stamp,
    pub by: Actor,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DifferenceAnswer {
    pub id: BeadId,
    pub title: Title,
    pub kind: DifferenceKind,
    pub changes: Vec<FieldChange>,
    pub notes: usize,
}

/// What undoing an operation did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UndoAnswer {
    pub dry_run: bool,
    pub beads: Vec<UndoneBead>,
    pub dependencies: Vec<EdgeAnswer>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct UndoneBead {
    pub id: BeadId,
    pub title: Title,
    /// `deleted` when its creation was undone, `restored` when its deletion was, else `changed`.
    pub action: &'static str,
    pub changes: Vec<FieldChange>,
}

pub fn undone(out: &mut String, answer: &UndoAnswer, output: &Output, style: Style) {
    if output.quiet {
        return;
    }
    let would = if answer.dry_run { "would have " } else { "" };
    for one in &answer.beads {
        let title = style.fit(&escape(one.title.as_str()), one.id.as_str().len() + 20);
        let _ = write!(out, "{would}{} {}: {title}", one.action, style.id(one.id.as_str()));
        changes(out, &one.changes, style);
        out.push('\n');
    }
    for edge in &answer.dependencies {
        edge_line(out, would, edge);
    }
}

pub fn log(out: &mut String, log: &LogAnswer, style: Style) {
    for write in &log.writes {
        let _ = write!(out, "{}  {}", style.faint(&write.time), escape(write.by.as_str()));
        if write.created {
            let title = write.changes.iter().find(|change| change.field == Field::Title);
            let title = title.map(|change| plain(&change.to)).unwrap_or_default();
            let _ = write!(out, "  created {}: {}", style.id(log.id.as_str()), style.fit(&title, 50));
        } else {
            changes(out, &write.changes, style);
        }
        for edge in &write.dependencies {
            let sign = if edge.status == "added" { '+' } else { '-' };
            let _ = write!(out, "  {sign}{} {}", edge.kind, style.id(edge.depends_on_id.as_str()));
        }
        for note in write.note.iter().chain(&write.more_notes) {
            let first = note.as_str().lines().next().unwrap_or_default();
            let _ = write!(out, "  noted: {}", style.fit(&escape(first), 50));
        }
        if let Some(reason) = &write.deleted {
            let reason = reason.non_empty().map(|reason| format!(": {}", escape(reason))).unwrap_or_default();
            let _ = write!(out, "  deleted{reason}");
        }
        out.push('\n');
    }
    if !log.complete {
        out.push_str("… and earlier, in commits that were not read\n");
    }
}

pub fn blame(out: &mut String, fields: &[BlameAnswer], style: Style) {
    for one in fields {
        let field = one.field.name();
        let (by, value) = (escape(one.by.as_str()), style.fit(&plain(&one.value), 70));
        let _ = writeln!(out, "{}  {by}  {field}: {value}", style.faint(&one.time));
    }
}

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
        let _ = write!(out, "{kind:<8} {}: {title}", style.id(one.id.as_str()));
        if matches!(one.kind, DifferenceKind::Changed | DifferenceKind::Restored) {
            changes(out, &one.changes, style);
        }
        if one.notes > 0 {
            let _ = write!(out, "  {} new {}", one.notes, if one.notes == 1 { "note" } else { "notes" });
        }
        out.push('\n');
    }
}

fn changes(out: &mut String, changes: &[FieldChange], style: Style) {
    for change in changes {
        let value = |value: &Value| style.fit(&plain(value), 60);
        let _ = write!(out, "  {}: {} → {}", change.field.name(), value(&change.from), value(&change.to));
    }
}

/// A value on one line; texts without quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "(none)".to_owned(),
        Value::String(text) => escape(text).into_owned(),
        other => escape(&other.to_string()).into_owned(),
    }
}
