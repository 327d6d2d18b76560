//! Options that programs written for the Go `bd` pass, and their meaning here.

use serde_json::{Value, json};

use crate::sandbox::{ACTOR, both, ids_of};

fn ids(beads: &Value, field: &str) -> Vec<String> {
    ids_of(&beads[field])
}

/// `blocks:X` means that the new bead blocks X, as in the Go `bd` since v0.60; with the other kinds it
/// depends on X.
#[test]
fn the_direction_of_deps() {
    both(|bd| {
        let (a, b) = (bd.create(&["a"]), bd.create(&["b"]));
        let text = bd.text(&["create", "new", "--deps", &format!("blocks:{a},{b}")]);
        let new = text.split_whitespace().nth(1).unwrap().trim_end_matches(':').to_owned();
        assert!(text.contains(&format!("{new} waits for {b}\n{new} blocks {a}\n")), "{text}");
        assert_eq!(ids(&bd.show(&a), "dependencies"), [new.as_str()]);
        assert_eq!(ids(&bd.show(&new), "dependencies"), [b.as_str()]);
        assert_eq!(ids(&bd.show(&new), "dependents"), [a.as_str()]);
        for role in ["depends-on", "blocked-by"] {
            let waits = bd.create(&["waits", "--deps", &format!("{role}:{b}")]);
            assert_eq!(ids(&bd.show(&waits), "dependencies"), [b.as_str()], "{role}");
        }
        // a waits for new, which waits for b: an edge from b to a would close a cycle.
        bd.error(&["create", "c", "--deps", &format!("blocks:{b},{a}")], "cycle");
        bd.error(&["create", "c", "--deps", &format!("blocks:{b},{b}")], "cycle");
        bd.error(&["create", "c", "--deps", "eats:bd-1"], "invalid_value");
    });
}

#[test]
fn dependencies_of_an_existing_bead() {
    both(|bd| {
        let (a, b, c) = (bd.create(&["a"]), bd.create(&["b"]), bd.create(&["c"]));
        let bead = bd.json(&["update", &a, "--deps", &format!("{b},blocks:{c},related:{c}")])[0].clone();
        assert_eq!(bead["dependencies"].as_array().unwrap().len(), 2, "{bead}");
        assert_eq!(ids(&bd.show(&c), "dependencies"), [a.as_str()]);
        let before = bd.everything();
        bd.json(&["update", &a, "--deps", &b]);
        assert_eq!(bd.everything(), before, "existing beads are unchanged");
        bd.error(&["update", &b, "--deps", &c], "cycle");
        bd.error(&["update", &b, "--deps", &b], "self_dependency");
        bd.json(&["dep", "add", &a, &c, "--kind", "related"]);
        let epic = bd.create(&["e", "-t", "epic"]);
        let child = bd.create(&["child", "--parent", &epic]);
        let tree = bd.json(&["dep", "tree", &epic]);
        assert_eq!(ids_of(&tree), [epic, child], "a tree shows parent edges too");
    });
}

#[test]
fn filters_and_orders() {
    both(|bd| {
        let low = bd.create(&["low", "-p", "low", "-a", "me"]);
        let high = bd.create(&["high", "--priority", "high", "--desc", "- why"]);
        let p4 = bd.create(&["p4", "-p", "P4"]);
        bd.json(&["close", &p4]);
        assert_eq!(bd.show(&high)["description"], "- why");
        assert_eq!((&bd.show(&low)["priority"], &bd.show(&low)["assignee"]), (&json!(3), &json!(ACTOR)));
        assert_eq!(bd.ids(&["list", "--assignee", "me"]), [low.as_str()]);
        assert_eq!(bd.ids(&["list", "--status", "all"]), [high.as_str(), &low, &p4]);
        assert_eq!(bd.ids(&["list", "--ready"]), [high.as_str(), &low]);
        assert_eq!(bd.ids(&["list", "--priority", "high"]), [high.as_str()]);
        assert_eq!(bd.ids(&["list", "--sort", "priority:desc"]), [p4.as_str(), &low, &high]);
        assert_eq!(bd.ids(&["list", "--sort", "priority:asc"]), [high.as_str(), &low, &p4]);
        assert_eq!(bd.ids(&["list", "--sort", "updated:asc"])[2], p4);
        assert_eq!(bd.ids(&["list", "--sort", "updated:desc"])[0], p4);
        bd.error(&["list", "--sort", "priority:up"], "invalid_value");
        bd.error(&["create", "x", "-p", "huge"], "invalid_value");
        bd.json(&["update", &high, "--assignee", "me"]);
        assert_eq!(bd.show(&high)["assignee"], ACTOR);
    });
}

#[test]
fn comments_reasons_leases_and_deletions() {
    both(|bd| {
        let id = bd.create(&["x"]);
        assert_eq!(bd.json(&["comment", &id, "one", "-a", "bob"])["author"], "bob");
        assert_eq!(bd.json(&["comments", "add", &id, "--author", "bob", "two words"])["text"], "two words");
        let run = bd.run_with_input(&["comment", &id, "--stdin", "--json"], b"- piped\n");
        assert_eq!(run.succeeded("--stdin").value()["text"], "- piped\n");
        bd.error(&["comment", &id, "text", "--stdin"], "usage");
        assert_eq!(bd.json(&["note", &id, "-- a dash"])["text"], "-- a dash");
        let claimed = bd.json(&["claim", &id, "--lease-secs", "600"]);
        assert!(claimed["assignee_expires"].is_string());
        bd.error(&["claim", &id, "--lease-secs", "soon"], "invalid_value");
        let closed = bd.json(&["update", &id, "--status", "closed", "--reason", "- done"])[0].clone();
        assert_eq!(closed["closed_reason"], "- done");
        let open = bd.json(&["update", &id, "--status", "open", "--reason", "it came back"])[0].clone();
        assert_eq!(open["notes"].as_array().unwrap().last().unwrap()["content"], "it came back");
        bd.error(&["update", &id, "--reason", "alone"], "usage");
        let other = bd.create(&["y"]);
        bd.json(&["delete", &id]);
        assert_eq!(bd.ids(&["deleted", &id]), [id.as_str()]);
        assert_eq!(bd.ids(&["deleted", "--all"]), [id.as_str()]);
        bd.error(&["deleted", &other], "not_found");
        bd.text(&["setup", "generic", "--project", "--print"]);
    });
}

#[test]
fn an_epic_shows_its_progress() {
    both(|bd| {
        let epic = bd.create(&["e", "-t", "epic"]);
        assert!(bd.show(&epic).get("epic_total_children").is_none());
        let child = bd.create(&["a", "--parent", &epic]);
        bd.create(&["b", "--parent", &epic]);
        bd.json(&["close", &child]);
        for dialect in ["spec", "compat"] {
            let bead = bd.run(&["show", &epic, &format!("--json={dialect}")]).value()[0].clone();
            assert_eq!((&bead["epic_total_children"], &bead["epic_closed_children"]), (&json!(2), &json!(1)));
            assert_eq!(bead["epic_closeable"], false);
        }
        assert!(bd.text(&["show", &epic]).contains("1 of 2 children closed"));
    });
}
