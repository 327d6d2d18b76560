//! A graph to draw, whatever it is drawn as. [`super::dot`] and [`super::mermaid`] write it.

use beads_core::{BeadId, BeadType, EdgeKind, Priority, Status, Title};

/// Nodes and edges in the order in which they are written; whoever builds a graph sorts it.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    pub edges: Vec<Arrow>,
}

#[derive(Debug, Clone)]
pub struct Node {
    pub id: BeadId,
    pub title: Title,
    pub status: Status,
    pub priority: Priority,
    pub kind: BeadType,
    /// Drawn so that it stands out, such as a bead on the critical path.
    pub highlight: bool,
}

/// `from` waits for, is a child of, relates to, or was found while working on `to`.
#[derive(Debug, Clone)]
pub struct Arrow {
    pub from: BeadId,
    pub to: BeadId,
    pub kind: EdgeKind,
    pub highlight: bool,
}

#[cfg(test)]
pub(super) mod example {
    use super::*;

    /// Two beads with hostile titles and every kind of edge between them.
    pub fn graph() -> Graph {
        let node = |id: &str, title: &str, status, highlight| Node {
            id: id.parse().unwrap(),
            title: title.parse().unwrap(),
            status,
            priority: Priority::default(),
            kind: BeadType::Task,
            highlight,
        };
        let edge = |kind| Arrow {
            from: "bd-a.1".parse().unwrap(),
            to: "bd-end".parse().unwrap(),
            kind,
            highlight: kind == EdgeKind::Blocks,
        };
        Graph {
            nodes: vec![
                node("bd-a.1", "say \"hi\" \\N <b>", Status::Open, true),
                node("bd-end", "#1; `x` & y", Status::Closed, false),
            ],
            edges: EdgeKind::ALL.map(edge).to_vec(),
        }
    }
}
