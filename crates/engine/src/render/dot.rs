//! Renders a graph for Graphviz.

use std::fmt::Write;

use beads_core::{EdgeKind, Status};

use super::graph_answer::{ArrowAnswer, NodeAnswer};
use super::markup::{self, backslashed};

/// Renders a graph in the DOT language.
pub fn render(nodes: &[NodeAnswer], edges: &[ArrowAnswer]) -> String {
    let mut out = String::from("digraph beads {\n  rankdir=LR;\n");
    out.push_str("  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n");
    for node in nodes {
        write_node(&mut out, node);
    }
    for arrow in edges {
        write_arrow(&mut out, arrow);
    }
    out.push_str("}\n");
    out
}

fn write_node(out: &mut String, node: &NodeAnswer) {
    let (id, title) = (quoted(node.id.as_str()), escaped(node.title.as_str()));
    let fill = match node.status {
        Status::Open => "#ffffff",
        Status::InProgress => "#fff2cc",
        Status::Closed => "#d9ead3",
    };
    let outline = if node.critical { ", color=\"#cc0000\", penwidth=3" } else { "" };
    let _ = writeln!(
        out,
        "  {id} [label=\"{}\\n{title}\\n{} {} {}\", fillcolor=\"{fill}\"{outline}];",
        node.id, node.priority, node.issue_type, node.status
    );
}

fn write_arrow(out: &mut String, arrow: &ArrowAnswer) {
    let style = match arrow.kind {
        EdgeKind::Blocks => "style=solid",
        EdgeKind::Parent => "style=dashed, arrowhead=empty",
        EdgeKind::Related => "style=dotted, dir=none",
        EdgeKind::DiscoveredFrom => "style=dotted",
    };
    let outline = if arrow.critical { ", color=\"#cc0000\", penwidth=3" } else { "" };
    let (from, to) = (quoted(arrow.from.as_str()), quoted(arrow.to.as_str()));
    let _ = writeln!(out, "  {from} -> {to} [label=\"{}\", {style}{outline}];", arrow.kind);
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// Escapes text for use inside quotes. Graphviz expands backslash sequences, such as `\N` for the name of the
/// node.
fn escaped(text: &str) -> String {
    markup::escaped(text, |out, c| backslashed(out, c, &['"', '\\']))
}

#[cfg(test)]
mod tests {
    use super::super::graph_answer::example;
    use super::*;

    #[test]
    fn titles_cannot_break_out_of_their_quotes() {
        let dot = example::drawn(render);
        assert!(dot.starts_with("digraph beads {\n") && dot.ends_with("}\n"), "{dot}");
        assert!(dot.contains(r#""bd-a.1" [label="bd-a.1\nsay \"hi\" \\N <b>\nP2 task open""#), "{dot}");
        assert!(dot.contains("#cc0000"), "the highlight is drawn");
        for kind in EdgeKind::ALL {
            assert!(dot.contains(&format!(r#""bd-a.1" -> "bd-end" [label="{kind}""#)), "{kind}: {dot}");
        }
    }
}
