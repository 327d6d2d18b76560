//! Renders a graph as a self-contained SVG file. `graph_layout` says where everything goes.

use std::collections::BTreeMap;
use std::fmt::Write;

use beads_core::{BeadId, EdgeKind, Status};
use unicode_width::UnicodeWidthChar;

use super::graph_answer::{ArrowAnswer, GraphAnswer, NodeAnswer};
use crate::graph_layout::{Edge, Node, Place, Point, Spacing, layout};

const BOX: (i64, i64) = (220, 46);
const SPACING: Spacing = Spacing { columns: 70, rows: 18, margin: 20, lane: 10 };
/// The distance between the text and the sides of a box.
const PADDING: i64 = 8;
/// Columns of a monospaced font that fit into a box.
const COLUMNS: usize = 28;
/// The height and width of an entry of the legend.
const LEGEND: (i64, i64) = (24, 150);

/// Renders a graph as SVG.
pub fn render(answer: &GraphAnswer) -> String {
    let numbers: BTreeMap<&BeadId, usize> =
        answer.nodes.iter().enumerate().map(|(number, node)| (&node.id, number)).collect();
    let nodes: Vec<Node> = answer.nodes.iter().map(|node| Node { layer: node.layer, size: BOX }).collect();
    let drawn: Vec<(&ArrowAnswer, Edge)> =
        answer.edges.iter().filter_map(|arrow| Some((arrow, edge(arrow, &numbers)?))).collect();
    let edges: Vec<Edge> = drawn.iter().map(|(_, edge)| *edge).collect();
    let layout = layout(&nodes, &edges, &SPACING);
    let kinds: Vec<EdgeKind> =
        EdgeKind::ALL.into_iter().filter(|kind| drawn.iter().any(|(arrow, _)| arrow.kind == *kind)).collect();
    let legend = i64::try_from(kinds.len()).unwrap_or_default();
    let width = layout.size.0.max(SPACING.margin + legend * LEGEND.1);
    let height = layout.size.1 + if kinds.is_empty() { 0 } else { LEGEND.0 };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n"
    );
    out.push_str(STYLE);
    for ((arrow, _), route) in drawn.iter().zip(&layout.routes) {
        write_edge(&mut out, arrow, route);
    }
    for (node, place) in answer.nodes.iter().zip(&layout.places) {
        write_node(&mut out, node, place);
    }
    for (number, kind) in (0..).zip(&kinds) {
        write_legend(&mut out, *kind, (SPACING.margin + number * LEGEND.1, layout.size.1));
    }
    out.push_str("</svg>\n");
    out
}

const STYLE: &str = "<style>\
rect{fill:#fff;stroke:#666}.in_progress rect{fill:#fff2cc}.closed rect{fill:#d9ead3}\
.critical rect{stroke:#c00;stroke-width:3}text{font:12px monospace;fill:#222}.id{font-weight:bold}\
path{fill:none;stroke:#666}path.critical{stroke:#c00;stroke-width:3}\
path.parent{stroke:#36c;stroke-dasharray:6 4}path.parent.critical{stroke:#c00}\
path.discovered_from{stroke:#999;stroke-dasharray:2 4}path.related{stroke:#999;stroke-dasharray:1 3}\
#end path{fill:#666;stroke:none}#whole path{fill:#fff;stroke:#36c}</style>\n\
<defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker>\
<marker id=\"whole\" viewBox=\"0 0 14 10\" refX=\"13\" refY=\"5\" markerWidth=\"14\" markerHeight=\"10\" \
markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M1 5L7 1L13 5L7 9z\"/></marker></defs>\n";

/// Returns an edge in the direction of work, from the blocker to the bead that waits for it. A child is
/// finished before its parent. Other edges keep the direction in which they were added.
fn edge(arrow: &ArrowAnswer, numbers: &BTreeMap<&BeadId, usize>) -> Option<Edge> {
    let (from, to) = (*numbers.get(&arrow.from)?, *numbers.get(&arrow.to)?);
    Some(if arrow.kind == EdgeKind::Blocks { Edge { from: to, to: from } } else { Edge { from, to } })
}

fn write_edge(out: &mut String, arrow: &ArrowAnswer, route: &[Point]) {
    let class = if arrow.critical { format!("{} critical", arrow.kind) } else { arrow.kind.to_string() };
    write_path(out, arrow.kind, &class, &curve(route));
}

/// Writes a path. An arrow points at the bead that waits; a diamond marks the parent, which contains the child.
fn write_path(out: &mut String, kind: EdgeKind, class: &str, path: &str) {
    let marker = if kind == EdgeKind::Parent { "whole" } else { "end" };
    let _ = writeln!(out, "<path class=\"{class}\" d=\"{path}\" marker-end=\"url(#{marker})\"/>");
}

/// Turns a route into a path. A slanted segment is in a gap between columns; it becomes a curve that stays
/// between its ends, so it touches no box either.
fn curve(route: &[Point]) -> String {
    let mut path = String::new();
    for (number, (x, y)) in route.iter().enumerate() {
        let previous = number.checked_sub(1).and_then(|number| route.get(number));
        let _ = match previous {
            None => write!(path, "M{x} {y}"),
            Some((before, _)) if before == x => write!(path, "V{y}"),
            Some((_, before)) if before == y => write!(path, "H{x}"),
            Some((from_x, from_y)) => {
                let middle = (from_x + x) / 2;
                write!(path, "C{middle} {from_y} {middle} {y} {x} {y}")
            }
        };
    }
    path
}

fn write_node(out: &mut String, node: &NodeAnswer, place: &Place) {
    let status = match node.status {
        Status::Open => "open",
        Status::InProgress => "in_progress",
        Status::Closed => "closed",
    };
    let critical = if node.critical { " critical" } else { "" };
    let ((x, y), (width, height)) = (place.corner, place.size);
    let head = format!("{} {} {}", node.id, node.priority, node.issue_type);
    // The inner svg element clips text whose font is wider than expected.
    let _ = writeln!(
        out,
        "<g class=\"{status}{critical}\"><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"5\"/>\
<svg x=\"{left}\" y=\"{y}\" width=\"{inner}\" height=\"{height}\"><text class=\"id\" y=\"18\">{}</text><text y=\"36\">{}</text></svg></g>",
        escaped(&format!("{}: {}", node.id, node.title.as_str())),
        escaped(&cut(&head)),
        escaped(&cut(node.title.as_str())),
        left = x + PADDING,
        inner = width - 2 * PADDING,
    );
}

fn write_legend(out: &mut String, kind: EdgeKind, (x, y): Point) {
    let middle = y + LEGEND.0 / 2 - SPACING.margin;
    write_path(out, kind, &kind.to_string(), &format!("M{x} {middle}H{}", x + 40));
    let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{kind}</text>", x + 46, middle + 4);
}

/// Cuts a line to the width of a box.
fn cut(line: &str) -> String {
    let width = |character: char| character.width().unwrap_or(0);
    if line.chars().map(width).sum::<usize>() <= COLUMNS {
        return line.to_owned();
    }
    let mut used = 1;
    let fits = |character: &char| {
        used += width(*character);
        used <= COLUMNS
    };
    let mut out: String = line.chars().take_while(fits).collect();
    out.push('…');
    out
}

/// Escapes text for XML. Replaces control characters, which XML does not allow.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_to_the_box() {
        assert_eq!(cut(&"x".repeat(COLUMNS)), "x".repeat(COLUMNS));
        assert_eq!(cut(&"x".repeat(COLUMNS + 1)), format!("{}…", "x".repeat(COLUMNS - 1)));
        assert_eq!(cut(&"宽".repeat(COLUMNS)), format!("{}…", "宽".repeat((COLUMNS - 1) / 2)));
    }

    #[test]
    fn a_curve_stays_between_its_ends() {
        assert_eq!(curve(&[(0, 5), (10, 5), (10, 20), (30, 40)]), "M0 5H10V20C20 20 20 40 30 40");
    }
}
