//! The answer of `bd graph`, as data and in each drawing format.

use std::collections::BTreeMap;
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
    let arrows = arrows_by_source(answer);
    let mut layers: BTreeMap<usize, Vec<&NodeAnswer>> = BTreeMap::new();
    for node in &answer.nodes {
        layers.entry(node.layer).or_default().push(node);
    }
    for (layer, nodes) in layers {
        let _ = writeln!(out, "{}", style.bold(&format!("Step {}", layer + 1)));
        for node in nodes {
            let arrows = arrows.get(&node.id).map_or(&[][..], Vec::as_slice);
            let after =
                targets(arrows, EdgeKind::Blocks, "after") + &targets(arrows, EdgeKind::Parent, "part of");
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

/// Returns the arrows of each bead that has any.
pub(super) fn arrows_by_source(answer: &GraphAnswer) -> BTreeMap<&BeadId, Vec<&ArrowAnswer>> {
    let mut arrows: BTreeMap<&BeadId, Vec<&ArrowAnswer>> = BTreeMap::new();
    for arrow in &answer.edges {
        arrows.entry(&arrow.from).or_default().push(arrow);
    }
    arrows
}

/// Lists the targets of a bead's edges of one kind after a word that names the kind.
fn targets(arrows: &[&ArrowAnswer], kind: EdgeKind, word: &str) -> String {
    let edges = arrows.iter().filter(|edge| edge.kind == kind);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    use super::*;
    use crate::request::Output;

    /// Beads that each wait for the previous one.
    fn chain(length: usize) -> GraphAnswer {
        let id = |n: usize| -> BeadId { format!("bd-c{n}").parse().unwrap() };
        let node = |n: usize| NodeAnswer {
            id: id(n),
            title: "link".parse().unwrap(),
            status: Status::Open,
            priority: Priority::default(),
            issue_type: BeadType::Task,
            layer: n,
            critical: false,
        };
        let edge =
            |n: usize| ArrowAnswer { from: id(n), to: id(n - 1), kind: EdgeKind::Blocks, critical: false };
        GraphAnswer {
            nodes: (0..length).map(node).collect(),
            edges: (1..length).map(edge).collect(),
            critical_path: Vec::new(),
            format: GraphFormat::Text,
        }
    }

    /// Returns the processor time of this thread that drawing takes, which other threads do not affect.
    fn cost(graph: &GraphAnswer, style: Style) -> Duration {
        let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
        let draw = |_| {
            let started = now();
            let mut out = String::new();
            render(&mut out, graph, style);
            assert!(out.lines().count() >= graph.nodes.len());
            now() - started
        };
        (0..3).map(draw).min().unwrap()
    }

    /// A chain of 20,000 beads took minutes: every bead looked at every edge.
    #[test]
    fn drawing_a_long_chain_takes_time_in_proportion_to_its_length() {
        let (short, long) = (chain(500), chain(8_000));
        for width in [None, Some(120)] {
            let output = Output { width, ..Output::default() };
            let style = Style::new(&output);
            let (short, long) = (cost(&short, style), cost(&long, style));
            // 16 times as many beads; a quadratic algorithm would take 256 times as long.
            assert!(long < 80 * short, "{width:?}: {short:?}, then {long:?}");
        }
    }
}
