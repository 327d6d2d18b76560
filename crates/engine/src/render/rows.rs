//! Renders lists of beads as aligned rows.

use std::fmt::Write;

use beads_core::BeadView;
use unicode_width::UnicodeWidthStr;

use super::answer::{EpicAnswer, LinkedBead, TreeNode};
use super::style::Style;
use crate::escape::escape;

/// Writes one row per bead.
pub fn beads(out: &mut String, views: &[BeadView], style: Style) {
    let id_width = views.iter().map(|view| view.id.as_str().len()).max().unwrap_or(0);
    for view in views {
        bead(out, view, id_width, &remarks(view, style), style);
    }
}

/// Writes one row per neighbour, with the kind of the edge.
pub fn linked(out: &mut String, linked: &[LinkedBead], style: Style) {
    let id_width = linked.iter().map(|link| link.bead.id.as_str().len()).max().unwrap_or(0);
    for link in linked {
        bead(out, &link.bead, id_width, &format!("({})", link.dependency_type), style);
    }
}

fn bead(out: &mut String, view: &BeadView, id_width: usize, remarks: &str, style: Style) {
    let id = format!("{:<id_width$}", view.id);
    let kind = format!("{:<7}", view.type_word.as_ref().map_or(view.kind.as_str(), |word| word.as_str()));
    let status = view.state.as_ref().map_or(view.status.as_str(), |word| word.as_str());
    // Columns before the title: id, priority, status, type and the spaces between them.
    let used = id_width + 2 + status.width().max(11) + kind.width() + 8;
    let (title, remarks) = style.fit_both(&escape(view.title.as_str()), remarks, used);
    let _ = write!(
        out,
        "{}  {}  {}  {}  {}",
        style.id(&id),
        style.priority(view.priority),
        style.status(view.status, view.state.as_ref()),
        style.faint(&kind),
        title
    );
    if !remarks.is_empty() {
        let _ = write!(out, "  {}", style.faint(&remarks));
    }
    out.push('\n');
}

/// Returns what follows the title of a bead in a list.
fn remarks(view: &BeadView, style: Style) -> String {
    let mut extras = Vec::new();
    if let Some(assignee) = &view.assignee {
        extras.push(format!("@{}", escape(assignee.as_str())));
    }
    if let Some(ended) = view.assignee_expires.filter(|_| view.lease_ended) {
        extras.push(format!("lease ended {}", style.ago(ended)));
    }
    extras.extend(view.silent_since.map(|since| format!("silent since {}", style.at(since))));
    extras.extend(view.labels.iter().map(|label| format!("#{}", escape(label.as_str()))));
    if let Some(by) = &view.blocked_by {
        let ids: Vec<_> = by.iter().map(beads_core::BeadId::as_str).collect();
        extras.push(format!("blocked by {}", ids.join(", ")));
    }
    if let Some(open) = view.open_children {
        extras.push(format!("{open} open {}", if open == 1 { "child" } else { "children" }));
    }
    if let Some(deleted) = &view.deleted {
        let reason = deleted.reason.get().map(|reason| format!(": {}", escape(reason))).unwrap_or_default();
        extras.push(format!(
            "deleted {} by {}{reason}",
            style.ago(deleted.deleted_at),
            escape(deleted.deleted_by.as_str())
        ));
    }
    extras.join(" ")
}

/// The maximum indentation of a tree, in levels. Deeper rows show their depth as a number. Indenting every
/// level of a chain would make the output quadratic in its length.
const MAX_INDENTED_LEVELS: usize = 32;

/// Writes a tree, one bead per row.
pub fn tree(out: &mut String, nodes: &[TreeNode], style: Style) {
    // For each depth, whether a line runs down to a later sibling.
    let mut running: Vec<bool> = Vec::new();
    // On a terminal, the indentation takes up to half of the line.
    let levels = style.width().map_or(MAX_INDENTED_LEVELS, |width| MAX_INDENTED_LEVELS.min(width / 8));
    for node in nodes {
        let above = node.depth.saturating_sub(1);
        running.truncate(above);
        let shown = running.iter().take(levels);
        let mut indent: String = shown.map(|runs| if *runs { "│   " } else { "    " }).collect();
        if above > levels {
            let _ = write!(indent, "…{above} ");
        }
        if node.depth > 0 {
            indent.push_str(if node.last { "└── " } else { "├── " });
            running.push(!node.last);
        }
        let kind = node.dependency_type.map(|kind| format!(" ({kind})")).unwrap_or_default();
        let more = if node.truncated { " …" } else { "" };
        let used = indent.chars().count() + node.id.as_str().len() + 18 + kind.len() + more.width();
        let title = style.fit(&escape(node.title.as_str()), used);
        let _ = writeln!(
            out,
            "{}{} {} [{}] {title}{}{more}",
            style.faint(&indent),
            style.id(node.id.as_str()),
            style.priority(node.priority),
            style.status_word(node.status, None),
            style.faint(&kind),
        );
    }
}

/// Writes one row per epic, with its progress.
pub fn epics(out: &mut String, epics: &[EpicAnswer], style: Style) {
    let id_width = epics.iter().map(|epic| epic.epic.id.as_str().len()).max().unwrap_or(0);
    for epic in epics {
        let id = format!("{:<id_width$}", epic.epic.id);
        let progress = format!("{}/{}", epic.closed_children, epic.total_children);
        let ready = if epic.eligible_for_close { "  ready to close" } else { "" };
        let title = style.fit(&escape(epic.epic.title.as_str()), id_width + 18 + ready.len());
        let _ = writeln!(out, "{}  {progress:>7} closed  {title}{}", style.id(&id), style.bold(ready));
    }
}
