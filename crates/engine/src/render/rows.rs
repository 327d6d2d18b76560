//! One line per bead, aligned.

use std::fmt::Write;

use beads_core::BeadView;

use super::answer::{EpicAnswer, LinkedBead, TreeNode};
use super::style::Style;
use crate::escape::escape;

pub fn beads(out: &mut String, views: &[BeadView], style: Style) {
    let id_width = views.iter().map(|view| view.id.as_str().len()).max().unwrap_or(0);
    for view in views {
        bead(out, view, id_width, style);
        extras(out, view, style);
        out.push('\n');
    }
}

pub fn linked(out: &mut String, linked: &[LinkedBead], style: Style) {
    let id_width = linked.iter().map(|link| link.bead.id.as_str().len()).max().unwrap_or(0);
    for link in linked {
        bead(out, &link.bead, id_width, style);
        let _ = writeln!(out, "  {}", style.faint(&format!("({})", link.dependency_type)));
    }
}

fn bead(out: &mut String, view: &BeadView, id_width: usize, style: Style) {
    let id = format!("{:<id_width$}", view.id);
    let kind = format!("{:<7}", view.type_word.as_ref().map_or(view.kind.as_str(), |word| word.as_str()));
    // Columns before the title: id, priority, status, type and the spaces between them.
    let used = id_width + 2 + 11 + 7 + 8;
    let title = style.fit(&escape(view.title.as_str()), used);
    let _ = write!(
        out,
        "{}  {}  {}  {}  {}",
        style.id(&id),
        style.priority(view.priority),
        style.status(view.status, view.state.as_ref()),
        style.faint(&kind),
        title
    );
}

fn extras(out: &mut String, view: &BeadView, style: Style) {
    let mut extras = Vec::new();
    if let Some(assignee) = &view.assignee {
        extras.push(format!("@{}", escape(assignee.as_str())));
    }
    extras.extend(view.silent_since.map(|since| format!("silent since {since}")));
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
            deleted.deleted_at,
            escape(deleted.deleted_by.as_str())
        ));
    }
    if !extras.is_empty() {
        let _ = write!(out, "  {}", style.faint(&extras.join(" ")));
    }
}

/// How many levels of a tree are indented. Deeper rows show their depth as a number: indenting every level of a chain makes the
/// output grow with the square of its length.
const MAX_INDENTED_LEVELS: usize = 32;

pub fn tree(out: &mut String, nodes: &[TreeNode], style: Style) {
    // For each depth, whether a line runs down to a later sibling.
    let mut running: Vec<bool> = Vec::new();
    for node in nodes {
        let above = node.depth.saturating_sub(1);
        running.truncate(above);
        let shown = running.iter().take(MAX_INDENTED_LEVELS);
        let mut indent: String = shown.map(|runs| if *runs { "│   " } else { "    " }).collect();
        if above > MAX_INDENTED_LEVELS {
            let _ = write!(indent, "…{above} ");
        }
        if node.depth > 0 {
            indent.push_str(if node.last { "└── " } else { "├── " });
            running.push(!node.last);
        }
        let kind = node.dependency_type.map(|kind| format!(" ({kind})")).unwrap_or_default();
        let more = if node.truncated { " …" } else { "" };
        let used = indent.chars().count() + node.id.as_str().len() + 18 + kind.len();
        let title = style.fit(&escape(node.title.as_str()), used);
        let _ = writeln!(
            out,
            "{}{} {} [{}] {title}{}{more}",
            style.faint(&indent),
            style.id(node.id.as_str()),
            style.priority(node.priority),
            style.status(node.status, None).trim_end(),
            style.faint(&kind),
        );
    }
}

pub fn epics(out: &mut String, epics: &[EpicAnswer], style: Style) {
    let id_width = epics.iter().map(|epic| epic.epic.id.as_str().len()).max().unwrap_or(0);
    for epic in epics {
        let id = format!("{:<id_width$}", epic.epic.id);
        let progress = format!("{}/{}", epic.closed_children, epic.total_children);
        let title = style.fit(&escape(epic.epic.title.as_str()), id_width + 30);
        let ready = if epic.eligible_for_close { "  ready to close" } else { "" };
        let _ = writeln!(out, "{}  {progress:>7} closed  {title}{}", style.id(&id), style.bold(ready));
    }
}
