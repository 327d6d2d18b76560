//! Renders beads as a CSV table (RFC 4180) with a header.

use beads_core::BeadView;

use crate::escape::escape_lines;

const COLUMNS: [&str; 24] = [
    "id",
    "title",
    "status",
    "priority",
    "type",
    "assignee",
    "labels",
    "parent",
    "dependencies",
    "external_ref",
    "source_repo",
    "estimated_minutes",
    "due_at",
    "defer_until",
    "created_at",
    "created_by",
    "updated_at",
    "closed_at",
    "closed_reason",
    "description",
    "design",
    "acceptance_criteria",
    "notes",
    "metadata",
];

/// Renders beads as CSV, one row each.
pub fn render(views: &[BeadView]) -> String {
    let mut out = COLUMNS.join(",");
    out.push_str("\r\n");
    for view in views {
        let cells = cells(view).map(|cell| quoted(&cell));
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
    }
    out
}

fn cells(view: &BeadView) -> [String; 24] {
    fn or_empty(value: Option<impl ToString>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    let labels: Vec<_> = view.labels.iter().map(beads_core::Label::as_str).collect();
    let links: Vec<_> = view.dependencies.iter().map(|link| format!("{}:{}", link.kind, link.id)).collect();
    let notes: Vec<_> = view.notes.iter().map(|note| format!("{}: {}", note.author, note.content)).collect();
    let metadata = if view.metadata.is_empty() { None } else { serde_json::to_string(&view.metadata).ok() };
    [
        view.id.to_string(),
        view.title.to_string(),
        view.status.to_string(),
        view.priority.get().to_string(),
        view.kind.to_string(),
        or_empty(view.assignee.as_ref()),
        labels.join(","),
        or_empty(view.parent.as_ref()),
        links.join(" "),
        or_empty(view.external_ref.get()),
        or_empty(view.source_repo.get()),
        or_empty(view.estimated_minutes.map(beads_core::Estimate::minutes)),
        or_empty(view.due_at),
        or_empty(view.defer_until),
        view.created_at.to_string(),
        view.created_by.to_string(),
        view.updated_at.to_string(),
        or_empty(view.closed_at),
        or_empty(view.closed_reason.get()),
        view.description.to_string(),
        or_empty(view.design.get()),
        or_empty(view.acceptance_criteria.get()),
        notes.join("\n"),
        or_empty(metadata),
    ]
}

/// Quotes a cell where necessary. Escapes terminal control characters, and puts an apostrophe before text
/// that a spreadsheet would read as a formula.
fn quoted(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let cell = format!("{}{}", if formula { "'" } else { "" }, escape_lines(cell));
    if cell.contains([',', '"', '\r', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_necessary() {
        for (cell, written) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("a\nb", "\"a\nb\""),
            ("=1+1", "'=1+1"),
            ("+1,2", "\"'+1,2\""),
            ("-x", "'-x"),
            ("@x", "'@x"),
            ("\t=x", "'\t=x"),
            ("a\u{1b}[31m\u{9b}\u{202e}", "a\\u{1b}[31m\\u{9b}\\u{202e}"),
        ] {
            assert_eq!(quoted(cell), written);
        }
    }
}
