use serde_json::{Value, json};

use crate::sandbox::{ACTOR, Sandbox, both};

fn change(field: &str, from: &Value, to: &Value) -> Value {
    json!({"field": field, "from": from, "to": to})
}

#[test]
fn fields_are_restored_even_after_a_save_and_redone() {
    both(|bd| {
        bd.create(&["first", "--id", "bd-1", "-l", "a"]);
        bd.json(&["sync"]);
        // Two writes between two saves, so no commit contains the value in between.
        bd.json(&["update", "bd-1", "--title", "second"]);
        bd.json(&["update", "bd-1", "--title", "third", "-p", "0"]);
        bd.json(&["sync"]);
        let dry = bd.json(&["undo", "--dry-run"]);
        assert_eq!(dry["dry_run"], true);
        assert_eq!(bd.show("bd-1")["title"], "third");
        let undone = bd.json(&["undo"]);
        assert_eq!(undone["beads"], dry["beads"]);
        assert_eq!(
            (&undone["beads"][0]["id"], &undone["beads"][0]["action"]),
            (&json!("bd-1"), &json!("changed"))
        );
        let back =
            [change("title", &json!("third"), &json!("second")), change("priority", &json!(0), &json!(2))];
        assert_eq!(undone["beads"][0]["changes"], json!(back));
        assert_eq!((&bd.show("bd-1")["title"], &bd.show("bd-1")["priority"]), (&json!("second"), &json!(2)));
        assert_eq!(
            bd.text(&["undo", "--redo"]),
            "changed bd-1: second  title: second → third  priority: 2 → 0\n"
                .replace("bd-1: second", "bd-1: third")
        );
        bd.json(&["label", "add", "bd-1", "b"]);
        bd.json(&["undo"]);
        assert_eq!(bd.show("bd-1")["labels"], json!(["a"]));
    });
}

#[test]
fn creation_deletion_and_closing() {
    both(|bd| {
        bd.error(&["undo"], "nothing_to_undo");
        bd.create(&["other", "--id", "bd-2"]);
        bd.create(&["made by mistake", "--id", "bd-1", "--deps", "bd-2"]);
        let undone = bd.json(&["undo"]);
        assert_eq!(undone["beads"][0]["action"], "deleted");
        assert_eq!(
            (&undone["dependencies"][0]["status"], bd.ids(&["list"])),
            (&json!("removed"), vec!["bd-2".into()])
        );
        assert_eq!(bd.json(&["undo", "--redo"])["beads"][0]["action"], "restored");
        assert_eq!(bd.ids(&["blocked"]), ["bd-1"], "with its dependency");
        bd.json(&["delete", "bd-1", "--reason", "mistake"]);
        assert_eq!(bd.json(&["undo"])["beads"][0]["action"], "restored");
        bd.json(&["close", "bd-1", "--reason", "done"]);
        bd.json(&["undo"]);
        assert_eq!(bd.show("bd-1")["status"], "open");
        bd.json(&["close", "bd-1", "--reason", "done"]);
        bd.json(&["reopen", "bd-1"]);
        bd.json(&["undo"]);
        assert_eq!(
            (&bd.show("bd-1")["status"], &bd.show("bd-1")["close_reason"]),
            (&json!("closed"), &json!("done"))
        );
    });
}

#[test]
fn claims_and_dependencies() {
    both(|bd| {
        bd.create(&["one", "--id", "bd-1"]);
        bd.create(&["two", "--id", "bd-2"]);
        bd.json(&["claim", "bd-1", "--lease", "1h"]);
        let until = bd.show("bd-1")["assignee_expires"].clone();
        bd.json(&["undo"]);
        assert_eq!(
            (&bd.show("bd-1")["status"], bd.show("bd-1").get("assignee").is_none_or(Value::is_null)),
            (&json!("open"), true)
        );
        bd.json(&["undo", "--redo"]);
        bd.json(&["unclaim", "bd-1", "--reason", "tired"]);
        bd.json(&["undo"]);
        let bead = bd.show("bd-1");
        assert_eq!(
            (&bead["status"], &bead["assignee"], &bead["assignee_expires"]),
            (&json!("in_progress"), &json!(ACTOR), &until)
        );
        assert_eq!(bead["notes"].as_array().map(Vec::len), Some(1), "the note stays: {bead}");
        bd.json(&["dep", "add", "bd-2", "bd-1"]);
        assert_eq!(bd.json(&["undo"])["dependencies"][0]["status"], "removed");
        assert_eq!(bd.ids(&["blocked"]), [""; 0]);
        bd.json(&["dep", "add", "bd-2", "bd-1"]);
        bd.json(&["dep", "remove", "bd-2", "bd-1"]);
        assert_eq!(bd.text(&["undo"]), "added bd-2 -> bd-1 (blocks)\n");
        assert_eq!(bd.ids(&["blocked"]), ["bd-2"]);
    });
}

#[test]
fn later_writes_of_others_prevent_an_undo_and_notes_stay() {
    both(|bd| {
        bd.create(&["one", "--id", "bd-1"]);
        bd.json(&["update", "bd-1", "--title", "mine", "-p", "1"]);
        bd.json_as("bob", &["update", "bd-1", "--title", "bob's"]);
        let error = bd.error(&["undo"], "undo_conflict");
        let obstacles = &error["details"]["obstacles"];
        assert_eq!(obstacles.as_array().map(Vec::len), Some(1), "{error}");
        let obstacle = (&obstacles[0]["id"], &obstacles[0]["what"], &obstacles[0]["by"]);
        assert_eq!(obstacle, (&json!("bd-1"), &json!("title"), &json!("bob")));
        assert_eq!((&bd.show("bd-1")["title"], &bd.show("bd-1")["priority"]), (&json!("bob's"), &json!(1)));
        bd.create(&["two", "--id", "bd-2"]);
        bd.json_as("bob", &["dep", "add", "bd-1", "bd-2"]);
        let error = bd.error(&["undo"], "undo_conflict");
        assert!(error["message"].as_str().unwrap().contains("dependency (blocks) of bd-2 by bob"), "{error}");
        // Each actor undoes only their own last operation.
        bd.json_as("bob", &["undo"]);
        bd.json(&["undo"]);
        assert_eq!(bd.ids(&["list"]), ["bd-1"]);
        bd.json(&["note", "add", "bd-1", "a word"]);
        bd.error(&["undo"], "cannot_undo");
        bd.error(&["undo", "--skip"], "undo_conflict");
        bd.error(&["undo", "--redo"], "nothing_to_undo");
    });
}

/// Ends the daemon as a crash does. Without a daemon, every command opens the store anew.
fn restart(bd: &Sandbox) {
    if bd.daemon_pid().is_some() {
        bd.kill_daemon();
    }
}

#[test]
fn repeated_undo_goes_back_step_by_step_across_restarts_and_redo_goes_forward() {
    both(|bd| {
        bd.create(&["first", "--id", "bd-1"]);
        bd.json(&["update", "bd-1", "--title", "second"]);
        bd.json(&["claim", "bd-1"]);
        bd.json(&["update", "bd-1", "--title", "third"]);
        // The lease is renewed, which does not count as an operation.
        bd.json(&["renew", "bd-1"]);
        bd.json(&["close", "bd-1", "--reason", "done"]);
        let state = || {
            let bead = bd.show("bd-1");
            format!("{} {}", bead["title"].as_str().unwrap(), bead["status"].as_str().unwrap())
        };
        let expected = ["third in_progress", "second in_progress", "second open", "first open"];
        for (number, expected) in expected.iter().enumerate() {
            bd.json(&["undo"]);
            assert_eq!(state(), *expected);
            if number == 1 {
                bd.json(&["sync"]);
            }
            restart(bd);
        }
        bd.json(&["undo"]);
        assert_eq!(bd.ids(&["list", "--all"]), [""; 0]);
        bd.error(&["undo"], "nothing_to_undo");
        restart(bd);
        for expected in
            ["first open", "second open", "second in_progress", "third in_progress", "third closed"]
        {
            bd.json(&["undo", "--redo"]);
            assert_eq!(state(), expected);
        }
        bd.error(&["undo", "--redo"], "nothing_to_undo");
        bd.json(&["undo"]);
        bd.json(&["update", "bd-1", "-p", "0"]);
        bd.error(&["undo", "--redo"], "nothing_to_undo");
    });
}

#[test]
fn an_undo_further_back_stops_where_others_wrote() {
    both(|bd| {
        bd.create(&["first", "--id", "bd-1"]);
        bd.json(&["update", "bd-1", "--title", "mine"]);
        bd.json_as("bob", &["update", "bd-1", "--title", "bob's"]);
        bd.json(&["update", "bd-1", "--title", "mine again"]);
        bd.json(&["undo"]);
        assert_eq!(bd.show("bd-1")["title"], "bob's");
        bd.error(&["undo"], "cannot_undo");
        bd.error(&["undo", "--skip"], "cannot_undo");
        assert_eq!(bd.show("bd-1")["title"], "bob's");
        // A creation is not undone after another actor has added a note.
        bd.create(&["other", "--id", "bd-2"]);
        bd.json(&["update", "bd-2", "-p", "1"]);
        bd.json_as("bob", &["note", "add", "bd-2", "a word"]);
        bd.json(&["undo"]);
        bd.error(&["undo"], "cannot_undo");
        assert_eq!(bd.show("bd-2")["title"], "other");
    });
}

#[test]
fn the_depth_is_bounded() {
    both(|bd| {
        bd.create(&["0", "--id", "bd-1"]);
        for title in 1..=33 {
            bd.json(&["update", "bd-1", "--title", &title.to_string()]);
        }
        for _ in 0..32 {
            bd.json(&["undo"]);
        }
        assert_eq!(bd.show("bd-1")["title"], "1");
        bd.error(&["undo"], "nothing_to_undo");
    });
}

#[test]
fn an_atomic_batch_is_undone_whole_and_a_repeated_request_once() {
    both(|bd| {
        let graph = json!({"beads": [{"name": "a", "id": "bd-1", "title": "a"}, {"name": "b", "id": "bd-2", "title": "b", "deps": ["a"]}]});
        std::fs::write(bd.dir().join("graph.json"), graph.to_string()).unwrap();
        bd.json(&["create", "--graph", "graph.json"]);
        assert_eq!(bd.json(&["undo", "--request-id", "r1"])["beads"].as_array().map(Vec::len), Some(2));
        assert_eq!(bd.ids(&["list"]), [""; 0]);
        assert_eq!(bd.json(&["undo", "--request-id", "r1"])["beads"].as_array().map(Vec::len), Some(2));
        assert_eq!(bd.ids(&["list"]), [""; 0], "once");
        bd.create(&["another", "--id", "bd-3"]);
        let again = bd.json(&["undo", "--request-id", "r1"]);
        assert_eq!(
            (&again["beads"][0]["id"], &again["beads"][1]["id"]),
            (&json!("bd-1"), &json!("bd-2")),
            "{again}"
        );
        assert_eq!(bd.ids(&["list"]), ["bd-3"], "later changes are kept");
    });
}
