//! The answer of `bd graph`: as data, and as any of the drawings.

use std::collections::BTreeSet;
use std::fmt::Write;

use beads_core::{BeadId, BeadType, EdgeKind, Priority, Status, Title};
use schemars::JsonSchema;
use serde::Serialize;

use super::style::Style;
use super::{dot, mermaid, svg};
use crate::escape::escape;
use crate::request::GraphFormat;

#[derive(Debug, Serialize, JsonSchema)]
pub struct GraphAnswer {
    pub nodes: Vec<NodeAnswer>,
    pub edges: Vec<ArrowAnswer>,
    /// In the order of work.
    pub critical_path: Vec<BeadId>,
    #[serde(skip)]
    pub format: GraphFormat,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct NodeAnswer {
    pub id: BeadId,
    pub title: Title,
    pub status: Status,
    pub priority: Priority,
    pub issue_type: BeadType,
    /// How many steps of waiting lead up to it.
    pub layer: usize,
    pub critical: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ArrowAnswer {
    pub from: BeadId,
    pub to: BeadId,
    pub kind: EdgeKind,
    pub critical: bool,
}

pub fn render(out: &mut String, answer: &GraphAnswer, style: Style) {
    match answer.format {
        GraphFormat::Text => text(out, answer, style),
        GraphFormat::Dot => out.push_str(&dot::render(&answer.nodes, &answer.edges)),
        GraphFormat::Mermaid => out.push_str(&mermaid::render(&answer.nodes, &answer.edges)),
        GraphFormat::Svg => out.push_str(&svg::render(answer)),
    }
}

/// Layer by layer: what stands under a heading can be done side by side.
fn text(out: &mut String, answer: &GraphAnswer, style: Style) {
    let layers: BTreeSet<usize> = answer.nodes.iter().map(|node| node.layer).collect();
    for layer in layers {
        let _ = writeln!(out, "{}", style.bold(&format!("Step {}", layer + 1)));
        for node in answer.nodes.iter().filter(|node| node.layer == layer) {
            let waits =
                answer.edges.iter().filter(|edge| edge.from == node.id && edge.kind == EdgeKind::Blocks);
            let waits: Vec<_> = waits.map(|edge| edge.to.as_str()).collect();
            let after =
                if waits.is_empty() { String::new() } else { format!("  after {}", waits.join(", ")) };
            let title = style.fit(&escape(node.title.as_str()), node.id.as_str().len() + after.len() + 24);
            let _ = writeln!(
                out,
                "{} {} {} [{}] {title}{}",
                if node.critical { "*" } else { " " },
                style.id(node.id.as_str()),
                style.priority(node.priority),
                style.status(node.status, None).trim_end(),
                style.faint(&after)
            );
        }
    }
    if !answer.critical_path.is_empty() {
        let path: Vec<_> = answer.critical_path.iter().map(BeadId::as_str).collect();
        let _ = writeln!(out, "* critical path: {}", path.join(" -> "));
    }
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
