//! A graph as SVG: one file that needs nothing else. Work flows from left to right, a column for each layer.

use std::collections::BTreeMap;
use std::fmt::Write;

use beads_core::{BeadId, EdgeKind, Status};
use unicode_width::UnicodeWidthChar;

use super::graph_answer::{ArrowAnswer, GraphAnswer, NodeAnswer};

const BOX: (usize, usize) = (220, 46);
const GAP: (usize, usize) = (70, 18);
const MARGIN: usize = 20;
/// Columns of a monospaced font that fit into a box.
const TITLE_COLUMNS: usize = 30;
/// How often the rows are sorted by their neighbours; more changes little.
const SWEEPS: usize = 4;

/// Where the upper left corner of each bead's box is.
type Places = BTreeMap<BeadId, (usize, usize)>;

pub fn render(answer: &GraphAnswer) -> String {
    let columns = columns(answer);
    let mut places = Places::new();
    for (column, rows) in columns.iter().enumerate() {
        for (row, id) in rows.iter().enumerate() {
            places.insert(id.clone(), (MARGIN + column * (BOX.0 + GAP.0), MARGIN + row * (BOX.1 + GAP.1)));
        }
    }
    let most_rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let side =
        |count: usize, length: usize, gap: usize| 2 * MARGIN + count * length + count.saturating_sub(1) * gap;
    let (width, height) = (side(columns.len(), BOX.0, GAP.0), side(most_rows, BOX.1, GAP.1));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n"
    );
    out.push_str(STYLE);
    for edge in &answer.edges {
        write_edge(&mut out, edge, &places);
    }
    for node in &answer.nodes {
        write_node(&mut out, node, &places);
    }
    out.push_str("</svg>\n");
    out
}

const STYLE: &str = "<style>\
rect{fill:#fff;stroke:#666}.in_progress rect{fill:#fff2cc}.closed rect{fill:#d9ead3}\
.critical rect{stroke:#c00;stroke-width:3}text{font:12px monospace;fill:#222}.id{font-weight:bold}\
path{fill:none;stroke:#666}path.critical{stroke:#c00;stroke-width:3}path.parent,path.discovered_from{stroke-dasharray:5 3}\
path.related{stroke-dasharray:1 3}marker path{fill:#666;stroke:none}</style>\n\
<defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n";

/// The beads of each layer from top to bottom, each near its neighbours in the layer before or after.
fn columns(answer: &GraphAnswer) -> Vec<Vec<BeadId>> {
    let layers = answer.nodes.iter().map(|node| node.layer + 1).max().unwrap_or(0);
    let mut columns = vec![Vec::new(); layers];
    let mut neighbours: BTreeMap<&BeadId, Vec<&BeadId>> = BTreeMap::new();
    for node in &answer.nodes {
        columns[node.layer].push(node.id.clone());
    }
    for edge in &answer.edges {
        neighbours.entry(&edge.from).or_default().push(&edge.to);
        neighbours.entry(&edge.to).or_default().push(&edge.from);
    }
    for sweep in 0..SWEEPS {
        let rows: BTreeMap<BeadId, usize> =
            columns.iter().flat_map(|column| column.iter().cloned().zip(0..)).collect();
        let order: Vec<usize> =
            if sweep % 2 == 0 { (0..layers).collect() } else { (0..layers).rev().collect() };
        for layer in order {
            // The mean row of the neighbours, in thousandths, so that the order is the same everywhere.
            columns[layer].sort_by_key(|id| match neighbours.get(id) {
                Some(near) => near.iter().filter_map(|id| rows.get(*id)).sum::<usize>() * 1000 / near.len(),
                None => usize::MAX,
            });
        }
    }
    columns
}

/// From the bead that is waited for to the one that waits: the way the work goes.
fn write_edge(out: &mut String, edge: &ArrowAnswer, places: &Places) {
    let (Some(first), Some(then)) = (places.get(&edge.to), places.get(&edge.from)) else { return };
    // A child is finished before its parent, and what is merely related points as it was written.
    let (first, then) = if edge.kind == EdgeKind::Blocks { (first, then) } else { (then, first) };
    let (x1, y1) = (first.0 + BOX.0, first.1 + BOX.1 / 2);
    let (x2, y2) = (then.0, then.1 + BOX.1 / 2);
    let bend = GAP.0 / 2;
    let class = if edge.critical { format!("{} critical", edge.kind) } else { edge.kind.to_string() };
    let _ = writeln!(
        out,
        "<path class=\"{class}\" d=\"M{x1} {y1}C{} {y1} {} {y2} {x2} {y2}\" marker-end=\"url(#end)\"/>",
        x1 + bend,
        x2.saturating_sub(bend),
    );
}

fn write_node(out: &mut String, node: &NodeAnswer, places: &Places) {
    let Some((x, y)) = places.get(&node.id) else { return };
    let status = match node.status {
        Status::Open => "open",
        Status::InProgress => "in_progress",
        Status::Closed => "closed",
    };
    let critical = if node.critical { " critical" } else { "" };
    let _ = writeln!(
        out,
        "<g class=\"{status}{critical}\"><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"5\"/>\
<text class=\"id\" x=\"{left}\" y=\"{}\">{} {} {}</text><text x=\"{left}\" y=\"{}\">{}</text></g>",
        escaped(node.title.as_str()),
        BOX.0,
        BOX.1,
        y + 18,
        escaped(node.id.as_str()),
        node.priority,
        node.issue_type,
        y + 36,
        escaped(&shortened(node.title.as_str())),
        left = x + 8,
    );
}

fn shortened(title: &str) -> String {
    let mut used = 0;
    let mut out = String::new();
    for character in title.chars() {
        used += character.width().unwrap_or(0);
        if used > TITLE_COLUMNS {
            out.push('…');
            break;
        }
        out.push(character);
    }
    out
}

/// Text that is nothing but text in XML. Control characters have no place there at all.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            control if control.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
