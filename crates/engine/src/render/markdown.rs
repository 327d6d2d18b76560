//! Beads as a page: by status, and within it by epic.

use std::collections::BTreeMap;
use std::fmt::Write;

use beads_core::{BeadId, BeadType, BeadView, EdgeKind, Status};

pub fn render(views: &[BeadView]) -> String {
    let by_id: BTreeMap<&BeadId, &BeadView> = views.iter().map(|view| (&view.id, view)).collect();
    let mut out = String::from("# Beads\n");
    for (status, heading) in
        [(Status::InProgress, "In progress"), (Status::Open, "Open"), (Status::Closed, "Closed")]
    {
        let mut groups: BTreeMap<Option<&BeadId>, Vec<&BeadView>> = BTreeMap::new();
        for view in views.iter().filter(|view| view.status == status) {
            groups.entry(epic_of(view, &by_id)).or_default().push(view);
        }
        let count: usize = groups.values().map(Vec::len).sum();
        let _ = writeln!(out, "\n## {heading} ({count})");
        for (epic, members) in groups {
            if let Some(epic) = epic.and_then(|id| by_id.get(id)) {
                let _ = writeln!(out, "\n### {} {}", epic.id, escaped(epic.title.as_str()));
            }
            out.push('\n');
            members.iter().for_each(|view| item(&mut out, view));
        }
    }
    out
}

/// The nearest epic above a bead. Merges may leave a ring of parents, so the way up is bounded.
fn epic_of<'a>(view: &'a BeadView, by_id: &BTreeMap<&'a BeadId, &'a BeadView>) -> Option<&'a BeadId> {
    let mut parent = view.parent.as_ref();
    for _ in 0..by_id.len() {
        let found = by_id.get(parent?)?;
        if found.kind == BeadType::Epic {
            return Some(&found.id);
        }
        parent = found.parent.as_ref();
    }
    None
}

fn item(out: &mut String, view: &BeadView) {
    let tick = if view.status == Status::Closed { 'x' } else { ' ' };
    let _ = write!(out, "- [{tick}] **{}** {}", view.id, escaped(view.title.as_str()));
    let mut facts = vec![format!("{} {}", view.priority, view.kind)];
    facts.extend(view.assignee.as_ref().map(|assignee| format!("@{}", escaped(assignee.as_str()))));
    facts.extend(view.labels.iter().map(|label| format!("#{}", escaped(label.as_str()))));
    let open = |link: &&beads_core::LinkView| link.kind == EdgeKind::Blocks && link.status != Status::Closed;
    let blockers: Vec<_> = view.dependencies.iter().filter(open).map(|link| link.id.to_string()).collect();
    if !blockers.is_empty() && view.status != Status::Closed {
        facts.push(format!("waits for {}", blockers.join(", ")));
    }
    facts.extend(view.closed_reason.get().map(|reason| escaped(reason.lines().next().unwrap_or_default())));
    let _ = writeln!(out, " ({})", facts.join("; "));
}

/// Text that Markdown would take for markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn markup_in_titles_is_text() {
        assert_eq!(super::escaped("*a* [b](c) <d>"), "\\*a\\* \\[b\\](c) \\<d\\>");
    }
}
