//! Renders a graph as a Mermaid flowchart, which many Markdown viewers draw.

use std::fmt::Write;

use beads_core::{BeadId, EdgeKind, Status};

use super::graph_answer::{ArrowAnswer, NodeAnswer};
use super::markup;

/// Renders a graph as a flowchart.
pub fn render(nodes: &[NodeAnswer], edges: &[ArrowAnswer]) -> String {
    let mut out = String::from("flowchart LR\n");
    for node in nodes {
        write_node(&mut out, node);
    }
    for arrow in edges {
        write_arrow(&mut out, arrow);
    }
    out.push_str("  classDef open fill:#ffffff,stroke:#666666\n");
    out.push_str("  classDef in_progress fill:#fff2cc,stroke:#666666\n");
    out.push_str("  classDef closed fill:#d9ead3,stroke:#666666\n");
    write_highlights(&mut out, nodes, edges);
    out
}

fn write_node(out: &mut String, node: &NodeAnswer) {
    let (name, title) = (name(&node.id), escaped(node.title.as_str()));
    let class = match node.status {
        Status::Open => "open",
        Status::InProgress => "in_progress",
        Status::Closed => "closed",
    };
    let _ = writeln!(
        out,
        "  {name}[\"{}<br/>{title}<br/>{} {}\"]:::{class}",
        node.id, node.priority, node.issue_type
    );
}

fn write_arrow(out: &mut String, arrow: &ArrowAnswer) {
    let line = match arrow.kind {
        _ if arrow.critical => "==>",
        EdgeKind::Blocks => "-->",
        EdgeKind::Parent | EdgeKind::DiscoveredFrom => "-.->",
        EdgeKind::Related => "-.-",
    };
    let _ = writeln!(out, "  {} {line}|{}| {}", name(&arrow.from), arrow.kind, name(&arrow.to));
}

fn write_highlights(out: &mut String, nodes: &[NodeAnswer], edges: &[ArrowAnswer]) {
    let nodes: Vec<_> = nodes.iter().filter(|node| node.critical).map(|node| name(&node.id)).collect();
    if !nodes.is_empty() {
        out.push_str("  classDef highlight stroke:#cc0000,stroke-width:3px\n");
        let _ = writeln!(out, "  class {} highlight", nodes.join(","));
    }
    let edges: Vec<_> = edges
        .iter()
        .enumerate()
        .filter(|(_, arrow)| arrow.critical)
        .map(|(index, _)| index.to_string())
        .collect();
    if !edges.is_empty() {
        let _ = writeln!(out, "  linkStyle {} stroke:#cc0000,stroke-width:3px", edges.join(","));
    }
}

/// Returns a node name that is neither a keyword nor an arrow: `-`, `.` and `end` all have a meaning in
/// Mermaid. Different ids get different names.
fn name(id: &BeadId) -> String {
    let mut name = String::from("n_");
    for c in id.as_str().chars() {
        match c {
            '_' => name.push_str("__"),
            '-' => name.push_str("_d"),
            '.' => name.push_str("_p"),
            c => name.push(c),
        }
    }
    name
}

/// Escapes text for use inside quotes, where Mermaid accepts HTML and its own `#…;` entities.
fn escaped(text: &str) -> String {
    markup::escaped(text, |out, c| {
        let is_special = matches!(c, '"' | '#' | '<' | '>' | '&' | '`' | ';' | '\\');
        if is_special {
            let _ = write!(out, "#{};", u32::from(c));
        }
        is_special
    })
}

#[cfg(test)]
mod tests {
    use super::super::graph_answer::example;
    use super::*;

    #[test]
    fn titles_and_ids_cannot_break_the_chart() {
        let chart = example::drawn(render);
        let title = "say #34;hi#34; #92;N #60;b#62;";
        assert!(
            chart.contains(&format!("  n_bd_da_p1[\"bd-a.1<br/>{title}<br/>P2 task\"]:::open\n")),
            "{chart}"
        );
        assert!(chart.contains("n_bd_da_p1 ==>|blocks| n_bd_dend\n"), "{chart}");
        assert!(chart.contains("  class n_bd_da_p1 highlight\n  linkStyle 0 "), "{chart}");
    }

    #[test]
    fn different_ids_have_different_names() {
        let names: std::collections::BTreeSet<_> =
            ["a-b.c", "a-b_c", "a-b-c", "a-b_pc"].map(|id| name(&id.parse().unwrap())).into();
        assert_eq!(names.len(), 4);
    }
}
