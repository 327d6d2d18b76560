use serde_json::json;

use crate::pty::run_on_terminal;
use crate::sandbox::{Sandbox, both};

fn three(bd: &Sandbox) {
    bd.create(&["<first> & \"best\"", "--id", "bd-1"]);
    bd.create(&["second", "--id", "bd-2", "--deps", "bd-1"]);
    bd.create(&["elsewhere", "--id", "bd-3"]);
    bd.create(&["done", "--id", "bd-4"]);
    bd.json(&["close", "bd-4"]);
}

#[test]
fn the_critical_path_is_marked_in_every_format() {
    both(|bd| {
        three(bd);
        let graph = bd.json(&["graph"]);
        assert_eq!(crate::sandbox::ids_of(&graph["nodes"]), ["bd-1", "bd-2", "bd-3"]);
        assert_eq!(graph["critical_path"], json!(["bd-1", "bd-2"]));
        assert_eq!(
            graph["edges"],
            json!([{"from": "bd-2", "to": "bd-1", "kind": "blocks", "critical": true}])
        );
        assert_eq!((&graph["nodes"][0]["layer"], &graph["nodes"][1]["layer"]), (&json!(0), &json!(1)));
        assert!(bd.text(&["graph"]).contains("* critical path: bd-1 -> bd-2"));
        assert!(bd.text(&["graph", "--format", "dot"]).starts_with("digraph"));
        assert!(bd.text(&["graph", "--format", "mermaid"]).contains("==>"));
        let svg = bd.text(&["graph", "--format", "svg"]);
        assert!(svg.starts_with("<svg xmlns") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(svg.contains("&lt;first&gt; &amp; &quot;best&quot;") && !svg.contains("<first>"), "{svg}");
        assert_eq!(svg.matches("class=\"open critical\"").count(), 2, "{svg}");
        assert!(!svg.contains("href"), "nothing from elsewhere: {svg}");
    });
}

#[test]
fn the_neighbourhood_of_a_bead_and_closed_beads() {
    both(|bd| {
        three(bd);
        let ids = |args: &[&str]| crate::sandbox::ids_of(&bd.json(args)["nodes"]);
        assert_eq!(ids(&["graph", "bd-2"]), ["bd-1", "bd-2"]);
        assert_eq!(ids(&["graph", "bd-3"]), ["bd-3"]);
        assert_eq!(ids(&["graph", "--all"]), ["bd-1", "bd-2", "bd-3", "bd-4"]);
        bd.error(&["graph", "bd-nope"], "not_found");
        bd.error(&["graph", "--format", "png"], "invalid_value");
    });
}

/// The blocker of the last bead is two columns away, and the edge to it does not run behind the bead between.
#[test]
fn edges_go_around_beads_and_text_is_cut() {
    both(|bd| {
        bd.create(&["first", "--id", "bd-1", "-t", "epic"]);
        bd.create(&["second", "--id", "bd-2", "--deps", "bd-1"]);
        bd.create(&[&"w".repeat(80), "--id", "bd-3", "--deps", "bd-1,bd-2"]);
        bd.create(&["part", "--id", "bd-4", "--parent", "bd-1"]);
        let svg = bd.text(&["graph", "--format", "svg"]);
        assert_eq!(svg, bd.text(&["graph", "--format", "svg"]), "the drawing is deterministic");
        let line = |class: &str| {
            svg.lines().filter(|line| line.starts_with(&format!("<path class=\"{class}"))).count()
        };
        assert_eq!(
            (line("blocks"), line("parent")),
            (4, 2),
            "three edges and one, each with an entry of the legend: {svg}"
        );
        assert!(svg.contains("url(#whole)"), "a parent edge ends in another mark: {svg}");
        assert!(!svg.contains(&format!(">{}<", "w".repeat(29))), "{svg}");
        let text = bd.text(&["graph"]);
        assert!(text.contains("bd-4 P2 [open] part  part of bd-1"), "{text}");
    });
}

#[test]
fn closed_beads_have_steps_of_their_own() {
    both(|bd| {
        bd.create(&["done", "--id", "bd-1"]);
        bd.create(&["next", "--id", "bd-2", "--deps", "bd-1"]);
        bd.json(&["close", "bd-1"]);
        let graph = bd.json(&["graph", "--all"]);
        assert_eq!(
            (&graph["nodes"][0]["layer"], &graph["nodes"][1]["layer"]),
            (&json!(0), &json!(1)),
            "{graph}"
        );
        assert_eq!(bd.json(&["graph"])["nodes"][0]["layer"], 0, "without --all, only open beads count");
    });
}

#[test]
fn a_terminal_shows_edges_beside_the_beads() {
    both(|bd| {
        bd.create(&["first", "--id", "bd-1"]);
        bd.create(&["second", "--id", "bd-2", "--deps", "bd-1"]);
        bd.create(&["third", "--id", "bd-3", "--deps", "bd-1,bd-2"]);
        bd.create(&["epic", "--id", "bd-4", "-t", "epic"]);
        bd.json(&["dep", "add", "bd-2", "bd-4", "--type", "parent"]);
        bd.create(&[&"w".repeat(90), "--id", "bd-5"]);
        bd.json(&["dep", "add", "bd-5", "bd-1", "--type", "related"]);
        let mut command = bd.command(&["graph", "--color", "never"]);
        command.env("PAGER", "cat");
        let shown = run_on_terminal(command, 80, 40);
        let title = "w".repeat(39);
        let expected = format!(
            "      Step 1
    ╭─○*bd-1 P2 [open] first
    │ ○ bd-5 P2 [open] {title}…  related to bd-1
    │ Step 2
╔═┬─┼─○*bd-2 P2 [open] second
║ │ │ Step 3
║ ╰─┴─○*bd-3 P2 [open] third
╚═════○ bd-4 P2 [open] epic
── the lower bead waits for the upper one
══ the upper bead is part of the lower one
* critical path: bd-1 -> bd-2 -> bd-3
"
        );
        assert_eq!(shown, expected);
    });
}
