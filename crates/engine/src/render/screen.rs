//! Renders a whole bead for a terminal.

use std::fmt::Write;

use beads_core::{BeadView, EVIDENCE, EdgeKind, LinkView, Note, Status, Timestamp, counted};

use super::answer::{ConflictAnswer, Detail};
use super::detail::rank;
use super::prose::prose;
use super::style::Style;
use super::value::value;
use super::wrap::{wrap, wrap_after};
use crate::escape::escape;

/// Writes everything about a bead.
pub fn bead(out: &mut String, detail: &Detail, style: Style) {
    let view = &detail.bead;
    head(out, view, style);
    for line in facts(detail, style) {
        let line = wrap(&line, style.width().unwrap_or(usize::MAX));
        for line in line.lines() {
            let _ = writeln!(out, "{}", style.faint(line));
        }
    }
    section(out, "Description", view.description.non_empty(), style);
    section(out, "Design", view.design.get(), style);
    section(out, "Acceptance criteria", view.acceptance_criteria.get(), style);
    section(out, "Closed because", view.closed_reason.get(), style);
    neighbours(out, view, style);
    conflicts(out, &detail.conflicts, style);
    notes(out, view, style);
}

fn head(out: &mut String, view: &BeadView, style: Style) {
    let (id, title) = (view.id.as_str(), escape(view.title.as_str()));
    let indent = " ".repeat(id.len() + 2);
    let title = wrap_after(&title, &indent, &indent, style.width().unwrap_or(usize::MAX));
    let lines: Vec<_> = title.lines().map(|line| style.bold(line.trim_start())).collect();
    let _ = writeln!(out, "{}  {}", style.id(id), lines.join(&format!("\n{indent}")));
    let _ = writeln!(out, "{}", rank(view, style));
}

/// Returns one line per fact below the title.
fn facts(detail: &Detail, style: Style) -> Vec<String> {
    let view = &detail.bead;
    let by = |actor: &beads_core::Actor| escape(actor.as_str()).into_owned();
    let labels: Vec<_> = view.labels.iter().map(|label| format!("#{}", escape(label.as_str()))).collect();
    let mut lines: Vec<String> = (!labels.is_empty()).then(|| labels.join(" ")).into_iter().collect();
    lines.extend(holder(detail, style));
    lines.push(format!("created {} by {}", style.ago(view.created_at), by(&view.created_by)));
    lines.push(format!("updated {} by {}", style.ago(view.updated_at), by(&view.updated_by)));
    if let (Some(at), Some(closer)) = (view.closed_at, &view.closed_by) {
        lines.push(format!("closed {} by {}", style.ago(at), by(closer)));
    }
    lines.extend(view.archived.then(|| format!("archived; bd restore {} brings it back", view.id)));
    lines.extend(view.due_at.map(|due| format!("due {}", style.at(due))));
    lines.extend(view.defer_until.map(|until| format!("deferred until {}", style.at(until))));
    let estimate = view.estimated_minutes;
    lines.extend(estimate.map(|estimate| format!("estimated at {}", counted(estimate.minutes(), "minute"))));
    lines.extend(view.external_ref.get().map(|reference| format!("see {}", escape(reference))));
    if !view.remapped.is_empty() {
        let ids: Vec<_> = view.remapped.iter().map(beads_core::BeadId::as_str).collect();
        lines.push(format!("other beads created as {}: {}", view.id, ids.join(", ")));
    }
    lines
}

/// Returns who holds the bead, since and until when, and the last sign of life.
fn holder(detail: &Detail, style: Style) -> Option<String> {
    let view = &detail.bead;
    let assignee = escape(view.assignee.as_ref()?.as_str());
    if view.offered {
        return Some(format!("offered to {assignee}"));
    }
    if view.status != Status::InProgress {
        return Some(format!("assigned to {assignee}"));
    }
    let mut line = format!("held by {assignee}");
    if let Some(since) = view.assignee_at {
        let _ = write!(line, " since {}", style.at(since.into()));
    }
    if let Some(expires) = view.assignee_expires {
        let _ = write!(line, " until {}", style.at(expires));
    }
    if detail.confirmed == Some(true) {
        line.push_str(", confirmed by the remote");
    }
    if let Some(seen) = detail.last_seen {
        let silent = if view.silent_since.is_some() { " (silent)" } else { "" };
        let _ = write!(line, "; last sign of life {}{silent}", style.ago(seen));
    }
    Some(line)
}

/// Writes a text below its heading.
pub fn section(out: &mut String, heading: &str, text: Option<&str>, style: Style) {
    if let Some(text) = text {
        let _ = write!(out, "\n{}\n{}", style.bold(heading), prose(text, "", style));
    }
}

/// Writes the beads around this one, grouped by what they mean for it.
fn neighbours(out: &mut String, view: &BeadView, style: Style) {
    let of = |links: &[LinkView], wanted: &dyn Fn(&LinkView) -> bool| -> Vec<LinkView> {
        links.iter().filter(|link| wanted(link)).cloned().collect()
    };
    let (to, from) = (&view.dependencies, &view.dependents);
    let blocks = |link: &LinkView| link.kind == EdgeKind::Blocks;
    let is_done = |link: &LinkView| link.status == Status::Closed;
    let is_family = |link: &LinkView| link.kind == EdgeKind::Parent;
    links(out, "Part of", &of(to, &is_family), style);
    let children = of(from, &is_family);
    let closed = children.iter().filter(|child| is_done(child)).count();
    links(out, &format!("Children ({closed} of {} closed)", children.len()), &children, style);
    links(out, "Blocked by", &of(to, &|link| blocks(link) && !is_done(link)), style);
    links(out, "Finished blockers", &of(to, &|link| blocks(link) && is_done(link)), style);
    links(out, "Blocks", &of(from, &blocks), style);
    let is_other = |link: &LinkView| !blocks(link) && !is_family(link);
    links(out, "Related", &[of(to, &is_other), of(from, &is_other)].concat(), style);
}

fn links(out: &mut String, heading: &str, links: &[LinkView], style: Style) {
    if links.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", style.bold(heading));
    let id_width = links.iter().map(|link| link.id.as_str().len()).max().unwrap_or(0);
    for link in links {
        let id = format!("{:<id_width$}", link.id);
        let kind = match link.kind {
            EdgeKind::Blocks | EdgeKind::Parent => String::new(),
            _ => format!("({})", link.dependency_type),
        };
        let (title, kind) = style.fit_both(&escape(link.title.as_str()), &kind, id_width + 17);
        let status = style.status(link.status, link.state.as_ref());
        let kind = if kind.is_empty() { kind } else { format!("  {}", style.faint(&kind)) };
        let _ = writeln!(out, "  {}  {status}  {title}{kind}", style.id(&id));
    }
}

fn conflicts(out: &mut String, conflicts: &[ConflictAnswer], style: Style) {
    if conflicts.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", style.bold("Open conflicts (bd conflicts --help)"));
    for one in conflicts {
        let field = one.field.unwrap_or_default();
        let known = beads_core::Field::ALL.iter().find(|known| known.name() == field);
        let shown = |json| known.map(|known| value(*known, json, style)).unwrap_or_default();
        let side = |verb: &str, json, by: Option<&beads_core::Actor>| {
            let by = by.map(|by| format!(" ({})", escape(by.as_str()))).unwrap_or_default();
            format!("{verb}  {}{by}", style.fit(&shown(json), by.len() + 10))
        };
        let _ = writeln!(out, "  {}  {field}", style.id(&one.id));
        let _ = writeln!(out, "    {}", side("lost", &one.value, Some(&one.by)));
        let (current, by) = match &one.current_by {
            Some(by) => ("now ", Some(by)),
            None => ("won ", one.won_by.as_ref()),
        };
        let _ = writeln!(out, "    {}", side(current, &one.current, by));
    }
}

/// Writes the evidence and the other notes.
fn notes(out: &mut String, view: &BeadView, style: Style) {
    let is_evidence = |note: &Note| note.kind.as_ref().is_some_and(|kind| kind.as_str() == EVIDENCE);
    let (evidence, others): (Vec<_>, Vec<_>) = view.notes.iter().partition(|note| is_evidence(note));
    for (heading, notes) in [("Evidence", evidence), ("Notes", others)] {
        if !notes.is_empty() {
            let _ = writeln!(out, "\n{}", style.bold(heading));
        }
        for note in notes {
            let when = Timestamp::from(note.at);
            entry(out, note.author.as_str(), when, note.content.as_str(), style);
        }
    }
}

/// Writes a note below its author and time.
pub fn entry(out: &mut String, author: &str, when: Timestamp, content: &str, style: Style) {
    let line = format!("{}, {}", escape(author), style.ago(when));
    let _ = write!(out, "{}\n{}", style.faint(&line), prose(content, "  ", style));
}
