//! Renders beads as a Markdown page, grouped by status and epic.

use std::collections::BTreeMap;
use std::fmt::Write;

use beads_core::{BeadId, BeadType, BeadView, EdgeKind, Status};

use super::markup::{self, backslashed};

/// Renders beads as a Markdown page.
pub fn render(views: &[BeadView]) -> String {
    let by_id: BTreeMap<&BeadId, &BeadView> = views.iter().map(|view| (&view.id, view)).collect();
    let epics = nearest_epics(views, &by_id);
    let mut out = String::from("# Beads\n");
    for (status, heading) in
        [(Status::InProgress, "In progress"), (Status::Open, "Open"), (Status::Closed, "Closed")]
    {
        let mut groups: BTreeMap<Option<&BeadId>, Vec<&BeadView>> = BTreeMap::new();
        for view in views.iter().filter(|view| view.status == status) {
            groups.entry(epics[&view.id]).or_default().push(view);
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

/// Returns the nearest epic above each bead. Visits every bead once, however deep the hierarchy is. Beads
/// whose parents form a cycle, which a merge can create, have no epic.
fn nearest_epics<'a>(
    views: &'a [BeadView],
    by_id: &BTreeMap<&'a BeadId, &'a BeadView>,
) -> BTreeMap<&'a BeadId, Option<&'a BeadId>> {
    let mut known: BTreeMap<&BeadId, Option<&BeadId>> = BTreeMap::new();
    for view in views {
        let (mut path, mut next) = (Vec::new(), Some(view));
        let epic = loop {
            let Some(bead) = next else { break None };
            if let Some(epic) = known.get(&bead.id) {
                break *epic;
            }
            // Recorded before its ancestors are visited, so that a cycle ends here.
            known.insert(&bead.id, None);
            path.push(&bead.id);
            let parent = bead.parent.as_ref().and_then(|parent| by_id.get(parent)).copied();
            if let Some(parent) = parent.filter(|parent| parent.kind == BeadType::Epic) {
                break Some(&parent.id);
            }
            next = parent;
        };
        known.extend(path.into_iter().map(|id| (id, epic)));
    }
    known
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

/// Escapes text that Markdown would read as markup.
pub(super) fn escaped(text: &str) -> String {
    const SPECIAL: [char; 11] = ['\\', '`', '*', '_', '[', ']', '<', '>', '#', '|', '~'];
    markup::escaped(text, |out, c| backslashed(out, c, &SPECIAL))
}

#[cfg(test)]
mod tests {
    #[test]
    fn markup_in_titles_is_text() {
        assert_eq!(super::escaped("*a* [b](c) <d>"), "\\*a\\* \\[b\\](c) \\<d\\>");
    }
}
