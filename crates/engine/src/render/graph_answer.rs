//! The answer of `bd graph`, as data and in each drawing format.

use std::collections::BTreeSet;
use std::fmt::Write;

use beads_core::{BeadId, BeadType, EdgeKind, Priority, Status, Title};
use schemars::JsonSchema;
use serde::Serialize;

use super::style::Style;
use super::{dot, graph_screen, mermaid, svg};
use crate::escape::escape;
use crate::request::GraphFormat;

/// A dependency graph.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GraphAnswer {
    /// The beads.
    pub nodes: Vec<NodeAnswer>,
    /// The dependencies.
    pub edges: Vec<ArrowAnswer>,
    /// The critical path, in the order of work.
    pub critical_path: Vec<BeadId>,
    /// The drawing format.
    #[serde(skip)]
    pub format: GraphFormat,
}

/// A bead in a graph.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NodeAnswer {
    /// The id.
    pub id: BeadId,
    /// The title.
    pub title: Title,
    /// The status.
    pub status: Status,
    /// The priority.
    pub priority: Priority,
    /// The type.
    pub issue_type: BeadType,
    /// The length of the longest chain of beads that it waits for.
    pub layer: usize,
    /// Whether it is on the critical path.
    pub critical: bool,
}

/// A dependency in a graph.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArrowAnswer {
    /// The bead that depends on the other one.
    pub from: BeadId,
    /// The bead it depends on.
    pub to: BeadId,
    /// The kind of the dependency.
    pub kind: EdgeKind,
    /// Whether it is on the critical path.
    pub critical: bool,
}

/// Writes the graph in its format.
pub fn render(out: &mut String, answer: &GraphAnswer, style: Style) {
    match answer.format {
        GraphFormat::Text if style.is_piped() => text(out, answer, style),
        GraphFormat::Text => graph_screen::render(out, answer, style),
        GraphFormat::Dot => out.push_str(&dot::render(&answer.nodes, &answer.edges)),
        GraphFormat::Mermaid => out.push_str(&mermaid::render(&answer.nodes, &answer.edges)),
        GraphFormat::Svg => out.push_str(&svg::render(answer)),
    }
}

/// Writes the graph layer by layer. The beads of one step can be done in parallel.
fn text(out: &mut String, answer: &GraphAnswer, style: Style) {
    let layers: BTreeSet<usize> = answer.nodes.iter().map(|node| node.layer).collect();
    for layer in layers {
        let _ = writeln!(out, "{}", style.bold(&format!("Step {}", layer + 1)));
        for node in answer.nodes.iter().filter(|node| node.layer == layer) {
            let after = targets(answer, node, EdgeKind::Blocks, "after")
                + &targets(answer, node, EdgeKind::Parent, "part of");
            let title = style.fit(&escape(node.title.as_str()), node.id.as_str().len() + after.len() + 24);
            let _ = writeln!(
                out,
                "{} {} {} [{}] {title}{}",
                if node.critical { "*" } else { " " },
                style.id(node.id.as_str()),
                style.priority(node.priority),
                style.status_word(node.status, None),
                style.faint(&after)
            );
        }
    }
    if let Some(path) = critical_path(answer) {
        let _ = writeln!(out, "{path}");
    }
}

/// Returns the line that names the critical path.
pub(super) fn critical_path(answer: &GraphAnswer) -> Option<String> {
    let path: Vec<_> = answer.critical_path.iter().map(BeadId::as_str).collect();
    (!path.is_empty()).then(|| format!("* critical path: {}", path.join(" -> ")))
}

/// Lists the targets of a bead's edges of one kind after a word that names the kind.
fn targets(answer: &GraphAnswer, node: &NodeAnswer, kind: EdgeKind, word: &str) -> String {
    let edges = answer.edges.iter().filter(|edge| edge.from == node.id && edge.kind == kind);
    let targets: Vec<_> = edges.map(|edge| edge.to.as_str()).collect();
    if targets.is_empty() { String::new() } else { format!("  {word} {}", targets.join(", ")) }
}

#[cfg(test)]
pub(super) mod example {
    use super::*;

    /// Draws two beads with hostile titles and every kind of edge between them.
    pub fn drawn(draw: impl Fn(&[NodeAnswer], &[ArrowAnswer]) -> String) -> String {
        let node = |id: &str, title: &str, status, critical| NodeAnswer {
            id: id.parse().unwrap(),
            title: title.parse().unwrap(),
            status,
            priority: Priority::default(),
            issue_type: BeadType::Task,
            layer: 0,
            critical,
        };
        let edge = |kind| ArrowAnswer {
            from: "bd-a.1".parse().unwrap(),
            to: "bd-end".parse().unwrap(),
            kind,
            critical: kind == EdgeKind::Blocks,
        };
        let nodes = [
            node("bd-a.1", "say \"hi\" \\N <b>", Status::Open, true),
            node("bd-end", "#1; `x` & y", Status::Closed, false),
        ];
        draw(&nodes, &EdgeKind::ALL.map(edge))
    }
}
