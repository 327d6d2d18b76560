use serde_json::json;

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
fn around_a_bead_and_with_closed_ones() {
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
