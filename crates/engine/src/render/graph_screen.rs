//! Draws a graph on a terminal: one line per bead, with the edges to the left of the text.

use std::collections::BTreeMap;
use std::fmt::Write;

use beads_core::{BeadId, EdgeKind, Status};

use super::graph_answer::{ArrowAnswer, GraphAnswer, NodeAnswer, arrows_by_source, critical_path};
use super::graph_lanes::{Lanes, LineEdge, Stroke};
use super::style::Style;
use super::wrap::wrap_after;
use crate::escape::escape;

/// How many columns of a terminal are left to the text at least.
const TEXT_COLUMNS: usize = 48;

/// Draws the graph step by step. The beads of one step can be done in parallel.
pub fn render(out: &mut String, answer: &GraphAnswer, style: Style) {
    let mut nodes: Vec<&NodeAnswer> = answer.nodes.iter().collect();
    nodes.sort_by_key(|node| node.layer);
    let lines: BTreeMap<&BeadId, usize> =
        nodes.iter().enumerate().map(|(line, node)| (&node.id, line)).collect();
    let edges: Vec<LineEdge> = answer.edges.iter().filter_map(|arrow| edge(arrow, &lines)).collect();
    let columns = style.width().unwrap_or(usize::MAX).saturating_sub(TEXT_COLUMNS) / 2;
    let lanes = Lanes::new(&edges, columns);
    let arrows = arrows_by_source(answer);
    let mut step = None;
    for (line, node) in nodes.iter().enumerate() {
        if step != Some(node.layer) {
            step = Some(node.layer);
            let heading = style.bold(&format!("Step {}", node.layer + 1));
            let _ = writeln!(out, "{}{heading}", style.faint(&lanes.before(line)));
        }
        let arrows = arrows.get(&node.id).map_or(&[][..], Vec::as_slice);
        write_bead(out, node, (line, &lanes), &named(arrows, &lanes, &lines), style);
    }
    legend(out, &edges);
    if let Some(path) = critical_path(answer) {
        out.push_str(&wrap_after(&path, "", "  ", style.width().unwrap_or(usize::MAX)));
        out.push('\n');
    }
}

/// Returns an edge that can be drawn: down to the bead that waits, or to the parent. Others are only named.
fn edge(arrow: &ArrowAnswer, lines: &BTreeMap<&BeadId, usize>) -> Option<LineEdge> {
    let (from, to) = (*lines.get(&arrow.from)?, *lines.get(&arrow.to)?);
    let (upper, lower, stroke) = match arrow.kind {
        EdgeKind::Blocks => (to, from, Stroke::Single),
        EdgeKind::Parent => (from, to, Stroke::Double),
        EdgeKind::Related | EdgeKind::DiscoveredFrom => return None,
    };
    (upper < lower).then_some(LineEdge { upper, lower, stroke })
}

fn write_bead(
    out: &mut String,
    node: &NodeAnswer,
    (line, lanes): (usize, &Lanes),
    named: &str,
    style: Style,
) {
    let dot = match node.status {
        Status::Open => "○",
        Status::InProgress => "◐",
        Status::Closed => "●",
    };
    let critical = if node.critical { "*" } else { " " };
    let status = style.status_word(node.status, None);
    let used = lanes.width() + node.id.as_str().len() + node.status.as_str().len() + 9;
    let (title, named) = style.fit_both(&escape(node.title.as_str()), named, used);
    let _ = writeln!(
        out,
        "{}{dot}{critical}{} {} [{}] {title}{}{}",
        style.faint(&lanes.line(line)),
        style.id(node.id.as_str()),
        style.priority(node.priority),
        status,
        if named.is_empty() { "" } else { "  " },
        style.faint(&named)
    );
}

/// Names the beads at the other end of edges that are not drawn.
fn named(arrows: &[&ArrowAnswer], lanes: &Lanes, lines: &BTreeMap<&BeadId, usize>) -> String {
    let mut named: Vec<String> = Vec::new();
    for arrow in arrows {
        let word = match arrow.kind {
            EdgeKind::Blocks => "after",
            EdgeKind::Parent => "part of",
            EdgeKind::Related => "related to",
            EdgeKind::DiscoveredFrom => "found in",
        };
        let is_drawn = edge(arrow, lines).is_some_and(|edge| !lanes.left_out.contains(&edge));
        if !is_drawn {
            named.push(format!("{word} {}", arrow.to));
        }
    }
    named.join("  ")
}

/// Explains the lines that are used.
fn legend(out: &mut String, edges: &[LineEdge]) {
    let has = |stroke| edges.iter().any(|edge| edge.stroke == stroke);
    let single = has(Stroke::Single).then_some("── the lower bead waits for the upper one");
    let double = has(Stroke::Double).then_some("══ the upper bead is part of the lower one");
    for entry in single.into_iter().chain(double) {
        let _ = writeln!(out, "{entry}");
    }
}
