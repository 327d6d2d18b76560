//! Renders a whole bead as plain text, for programs. `screen.rs` does it for a terminal.

use std::fmt::Write;

use beads_core::{BeadView, LinkView, Timestamp, counted};

use super::answer::{NoteAnswer, Progress};
use super::screen;
use super::style::Style;
use crate::escape::{escape, escape_lines};

/// Returns the priority, the status and the type of a bead.
pub(super) fn rank(view: &BeadView, style: Style) -> String {
    let status = style.status_word(view.status, view.state.as_ref());
    let kind = view.type_word.as_ref().map_or(view.kind.as_str(), |word| word.as_str());
    format!("{}  {status}  {kind}", style.priority(view.priority))
}

/// Writes everything about a bead.
pub fn bead(out: &mut String, view: &BeadView, progress: Option<&Progress>, style: Style) {
    let _ = writeln!(out, "{}  {}", style.id(view.id.as_str()), style.bold(&escape(view.title.as_str())));
    out.push_str(&rank(view, style));
    if let Some(assignee) = &view.assignee {
        let offer = if view.offered { "offered to " } else { "" };
        let _ = write!(out, "  {offer}@{}", escape(assignee.as_str()));
        if let Some(expires) = view.assignee_expires {
            let _ = write!(out, " until {expires}");
        }
        if let Some(since) = view.silent_since {
            let _ = write!(out, ", silent since {since}");
        }
    }
    for label in &view.labels {
        let _ = write!(out, "  #{}", escape(label.as_str()));
    }
    out.push('\n');
    times(out, view, style);
    if let Some(Progress { total, closed, closeable }) = progress {
        let hint = if *closeable { "; it can be closed" } else { "" };
        let _ = writeln!(out, "{}", style.faint(&format!("{closed} of {total} children closed{hint}")));
    }
    section(out, "Description", view.description.non_empty(), style);
    section(out, "Design", view.design.get(), style);
    section(out, "Acceptance criteria", view.acceptance_criteria.get(), style);
    section(out, "Closed because", view.closed_reason.get(), style);
    links(out, "Depends on", &view.dependencies, style);
    links(out, "Needed by", &view.dependents, style);
    if !view.notes.is_empty() {
        let _ = writeln!(out, "\n{}", style.bold("Notes"));
        for note in &view.notes {
            let when = Timestamp::from(note.at).to_string();
            entry(out, note.author.as_str(), &when, note.content.as_str(), style);
        }
    }
}

fn times(out: &mut String, view: &BeadView, style: Style) {
    let by = |actor: &beads_core::Actor| escape(actor.as_str()).into_owned();
    let mut lines = vec![
        format!("created {} by {}", view.created_at, by(&view.created_by)),
        format!("updated {} by {}", view.updated_at, by(&view.updated_by)),
    ];
    if let (Some(at), Some(closer)) = (view.closed_at, &view.closed_by) {
        lines.push(format!("closed {at} by {}", by(closer)));
    }
    lines.extend(
        view.archived
            .then(|| format!("archived on branch beads/archive; bd restore {} brings it back", view.id)),
    );
    lines.extend(view.due_at.map(|due| format!("due {due}")));
    lines.extend(view.defer_until.map(|until| format!("deferred until {until}")));
    lines.extend(
        view.estimated_minutes
            .map(|estimate| format!("estimated at {}", counted(estimate.minutes(), "minute"))),
    );
    lines.extend(view.external_ref.get().map(|reference| format!("see {}", escape(reference))));
    lines.extend(view.parent.as_ref().map(|parent| format!("part of {parent}")));
    if !view.remapped.is_empty() {
        let ids: Vec<_> = view.remapped.iter().map(beads_core::BeadId::as_str).collect();
        lines.push(format!("Other beads created as {}: {}", view.id, ids.join(", ")));
    }
    for line in lines {
        let _ = writeln!(out, "{}", style.faint(&line));
    }
}

pub(super) fn section(out: &mut String, heading: &str, text: Option<&str>, style: Style) {
    match text {
        Some(_) if !style.is_piped() => screen::section(out, heading, text, style),
        Some(text) => {
            let _ = writeln!(out, "\n{}\n{}", style.bold(heading), escape_lines(text.trim_end()));
        }
        None => {}
    }
}

fn links(out: &mut String, heading: &str, links: &[LinkView], style: Style) {
    if links.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", style.bold(heading));
    for link in links {
        let _ = writeln!(
            out,
            "  {}  {}  {}  {}",
            style.id(link.id.as_str()),
            style.status(link.status, link.state.as_ref()),
            escape(link.title.as_str()),
            style.faint(&format!("({})", link.dependency_type)),
        );
    }
}

/// Writes notes, each with its author and time.
pub fn notes(out: &mut String, notes: &[NoteAnswer], style: Style) {
    for note in notes {
        let (author, content) = (note.author.as_str(), note.content.as_str());
        if style.is_piped() {
            entry(out, author, &note.created_at, content, style);
        } else {
            screen::entry(out, author, note.at.into(), content, style);
        }
    }
}

fn entry(out: &mut String, author: &str, when: &str, content: &str, style: Style) {
    let _ = writeln!(out, "{}", style.faint(&format!("{when} {}", escape(author))));
    for line in escape_lines(content.trim_end()).lines() {
        let _ = writeln!(out, "  {line}");
    }
}
