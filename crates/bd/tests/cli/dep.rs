use serde_json::{Value, json};

use crate::sandbox::{Sandbox, both, ids_of};
use crate::schema::check_bead;

fn beads(bd: &Sandbox, count: usize) {
    for number in 1..=count {
        bd.create(&[&format!("bead {number}"), "--id", &format!("bd-{number}")]);
    }
}

#[test]
fn an_edge_is_added_and_removed() {
    both(|bd| {
        beads(bd, 3);
        let added = bd.json(&["dep", "add", "bd-1", "bd-2"]);
        let expected = json!({
            "status": "added", "issue_id": "bd-1", "depends_on_id": "bd-2", "type": "blocks", "kind": "blocks",
        });
        assert_eq!(added, expected);
        let everything = bd.everything();
        assert_eq!(bd.json(&["dep", "add", "bd-1", "bd-2"]), expected, "adding again changes nothing");
        assert_eq!(bd.everything(), everything);
        assert_eq!(
            bd.text(&["dep", "add", "bd-1", "bd-3", "--type", "discovered-from"]),
            "added bd-1 -> bd-3 (discovered-from)\n"
        );
        let removed = bd.json(&["dep", "remove", "bd-1", "bd-2"]);
        assert_eq!(removed["status"], "removed");
        bd.error(&["dep", "remove", "bd-1", "bd-2"], "dependency_not_found");
        // Without a type, only a blocking edge is removed.
        bd.error(&["dep", "rm", "bd-1", "bd-3"], "dependency_not_found");
        bd.json(&["dep", "rm", "bd-1", "bd-3", "-t", "discovered_from"]);
        assert_eq!(bd.json(&["dep", "list", "bd-1"]), json!([]));
        bd.json(&["dep", "add", "bd-1", "bd-2"]);
        assert_eq!(bd.ids(&["dep", "list", "bd-1"]), ["bd-2"], "a removed edge can come back");
    });
}

#[test]
fn every_spelling_of_a_kind() {
    both(|bd| {
        beads(bd, 2);
        for (spelling, kind, client) in [
            ("blocks", "blocks", "blocks"),
            ("related", "related", "related"),
            ("relates-to", "related", "related"),
            ("discovered_from", "discovered_from", "discovered-from"),
            ("discovered-from", "discovered_from", "discovered-from"),
            ("parent", "parent", "parent-child"),
            ("parent-child", "parent", "parent-child"),
            ("parent_child", "parent", "parent-child"),
        ] {
            let added = bd.json(&["dep", "add", "bd-1", "bd-2", "--type", spelling]);
            assert_eq!((&added["kind"], &added["type"]), (&json!(kind), &json!(client)), "{spelling}");
        }
        bd.error(&["dep", "add", "bd-1", "bd-2", "--type", "hates"], "invalid_value");
    });
}

#[test]
fn cycles_are_refused_where_they_matter() {
    both(|bd| {
        beads(bd, 3);
        bd.json(&["dep", "add", "bd-1", "bd-2"]);
        bd.json(&["dep", "add", "bd-2", "bd-3"]);
        bd.json(&["dep", "add", "bd-1", "bd-2", "-t", "parent"]);
        let before = bd.everything();
        for kind in ["blocks", "parent", "related", "discovered_from"] {
            bd.error(&["dep", "add", "bd-1", "bd-1", "-t", kind], "self_dependency");
        }
        let error = bd.error(&["dep", "add", "bd-3", "bd-1"], "cycle");
        assert_eq!(error["details"]["cycle"].as_array().unwrap().len(), 4, "{error}");
        bd.error(&["dep", "add", "bd-2", "bd-1", "-t", "parent"], "cycle");
        bd.error(&["update", "bd-2", "--parent", "bd-1"], "cycle");
        assert_eq!(bd.everything(), before);
        assert_eq!(bd.json(&["dep", "cycles"]), json!([]));
        assert_eq!(bd.text(&["dep", "cycles"]), "");
        // Edges of different kinds do not form a cycle together, and `related` edges may form one.
        bd.json(&["dep", "add", "bd-3", "bd-1", "-t", "parent"]);
        bd.json(&["dep", "add", "bd-3", "bd-1", "-t", "related"]);
        bd.json(&["dep", "add", "bd-1", "bd-3", "-t", "related"]);
        assert_eq!(bd.json(&["dep", "cycles"]), json!([]));
    });
}

#[test]
fn neighbours_in_both_directions() {
    both(|bd| {
        beads(bd, 4);
        bd.json(&["dep", "add", "bd-1", "bd-2"]);
        bd.json(&["dep", "add", "bd-1", "bd-3", "-t", "related"]);
        bd.json(&["dep", "add", "bd-1", "bd-4", "-t", "parent"]);
        let down = bd.json(&["dep", "list", "bd-1"]);
        assert_eq!(ids_of(&down), ["bd-2", "bd-3"], "the parent only when asked for");
        assert_eq!(down[0]["dependency_type"], "blocks");
        down.as_array().unwrap().iter().for_each(check_bead);
        assert_eq!(bd.ids(&["dep", "list", "bd-1", "--type", "parent"]), ["bd-4"]);
        assert_eq!(bd.ids(&["dep", "list", "bd-2", "--direction", "up"]), ["bd-1"]);
        assert_eq!(bd.ids(&["dep", "list", "bd-2"]), Vec::<String>::new());
        assert!(bd.text(&["dep", "list", "bd-1"]).contains("(related)"));
        bd.error(&["dep", "list", "bd-1", "--direction", "sideways"], "invalid_value");
    });
}

#[test]
fn a_tree_of_blockers_and_children() {
    both(|bd| {
        beads(bd, 4);
        bd.json(&["dep", "add", "bd-1", "bd-2"]);
        bd.json(&["dep", "add", "bd-2", "bd-3"]);
        bd.json(&["dep", "add", "bd-4", "bd-1", "-t", "parent"]);
        let rows = |args: &[&str]| -> Vec<(String, u64, Value)> {
            bd.json(&[&["dep", "tree"], args].concat())
                .as_array()
                .unwrap()
                .iter()
                .map(|row| {
                    let id = row["id"].as_str().unwrap().to_owned();
                    (id, row["depth"].as_u64().unwrap(), row["truncated"].clone())
                })
                .collect()
        };
        let row = |id: &str, depth, cut: bool| (id.to_owned(), depth, json!(cut));
        assert_eq!(
            rows(&["bd-1"]),
            [row("bd-1", 0, false), row("bd-2", 1, false), row("bd-3", 2, false), row("bd-4", 1, false)]
        );
        assert_eq!(
            rows(&["bd-1", "--depth", "1"]),
            [row("bd-1", 0, false), row("bd-2", 1, true), row("bd-4", 1, false)]
        );
        assert_eq!(
            rows(&["bd-3", "--direction", "up"]),
            [row("bd-3", 0, false), row("bd-2", 1, false), row("bd-1", 2, false)]
        );
        let text = bd.text(&["dep", "tree", "bd-1"]);
        assert!(
            text.contains("├── bd-2") && text.contains("│   └── bd-3") && text.contains("\n└── bd-4"),
            "{text}"
        );
    });
}
