use serde_json::{Value, json};

use crate::sandbox::{ACTOR, Sandbox, both};

fn changes(write: &Value) -> Vec<(String, Value, Value)> {
    let all = write["changes"].as_array().unwrap();
    all.iter()
        .map(|one| (one["field"].as_str().unwrap().to_owned(), one["from"].clone(), one["to"].clone()))
        .collect()
}

/// Saves all changes and returns the commit.
fn saved(bd: &Sandbox) -> String {
    bd.json(&["sync"])["commit"].as_str().unwrap().to_owned()
}

#[test]
fn a_log_shows_commits_and_unsaved_changes() {
    both(|bd| {
        bd.create(&["first title", "--id", "bd-1"]);
        saved(bd);
        bd.json_as("bob", &["update", "bd-1", "--title", "second title", "-p", "0"]);
        saved(bd);
        bd.create(&["something else", "--id", "bd-2"]);
        saved(bd);
        bd.json(&["update", "bd-1", "--title", "third title"]);
        bd.json(&["update", "bd-1", "--title", "fourth title"]);
        bd.json(&["note", "add", "bd-1", "a word"]);
        bd.json(&["delete", "bd-1", "--reason", "enough"]);
        let log = bd.json(&["log", "bd-1"]);
        let writes = log["writes"].as_array().unwrap();
        assert_eq!((writes.len(), &log["complete"]), (6, &json!(true)), "{log}");
        assert_eq!((&writes[0]["created"], &writes[0]["by"]), (&json!(true), &json!(ACTOR)));
        assert_eq!(writes[1]["by"], "bob");
        let title = |from: &str, to: &str| ("title".to_owned(), json!(from), json!(to));
        assert_eq!(
            changes(&writes[1]),
            [title("first title", "second title"), ("priority".into(), json!(2), json!(0))]
        );
        assert_eq!(changes(&writes[2]), [title("second title", "third title")]);
        assert_eq!(changes(&writes[3]), [title("third title", "fourth title")]);
        assert_eq!((&writes[4]["note"], &writes[5]["deleted"]), (&json!("a word"), &json!("enough")));
        let text = bd.text(&["log", "bd-1"]);
        assert!(text.contains("bob  title: first title → second title"), "{text}");
        bd.error(&["log", "bd-nope"], "not_found");
    });
}

#[test]
fn blame_names_the_last_writer_of_each_field() {
    both(|bd| {
        bd.create(&["title", "--id", "bd-1"]);
        bd.json_as("bob", &["update", "bd-1", "-p", "0"]);
        let blame = bd.json(&["blame", "bd-1"]);
        let by = |field: &str| {
            let all = blame.as_array().unwrap();
            all.iter().find(|one| one["field"] == field).map(|one| one["by"].clone())
        };
        assert_eq!((by("title"), by("priority")), (Some(json!(ACTOR)), Some(json!("bob"))));
        assert_eq!(by("design"), None, "it was never set");
        assert!(bd.text(&["blame", "bd-1"]).contains("bob  priority: 0"));
    });
}

#[test]
fn the_past_by_revision_and_by_time() {
    both(|bd| {
        bd.create(&["old title", "--id", "bd-1"]);
        bd.create(&["closed later", "--id", "bd-2"]);
        bd.create(&["deleted later", "--id", "bd-3"]);
        let first = saved(bd);
        let then = bd.show("bd-3")["updated_at"].as_str().unwrap().to_owned();
        bd.json(&["update", "bd-1", "--title", "new title"]);
        bd.json(&["close", "bd-2"]);
        bd.json(&["delete", "bd-3"]);
        bd.create(&["made later", "--id", "bd-4"]);
        for moment in [first.as_str(), &first[..10], &then] {
            assert_eq!(bd.json(&["show", "bd-1", "--as-of", moment])[0]["title"], "old title", "{moment}");
            bd.error(&["show", "bd-4", "--as-of", moment], "not_found");
            let diff = bd.json(&["diff", moment]);
            let kinds: Vec<_> =
                diff.as_array().unwrap().iter().map(|one| (one["id"].clone(), one["kind"].clone())).collect();
            let kind = |id: &str, kind: &str| (json!(id), json!(kind));
            assert_eq!(
                kinds,
                [
                    kind("bd-1", "changed"),
                    kind("bd-2", "closed"),
                    kind("bd-3", "deleted"),
                    kind("bd-4", "created")
                ],
                "{moment}"
            );
            assert_eq!(
                diff[0]["changes"],
                json!([{"field": "title", "from": "old title", "to": "new title"}])
            );
        }
        let second = saved(bd);
        assert_eq!(bd.json(&["diff", &second]), json!([]));
        assert_eq!(bd.json(&["diff", &first, &second]).as_array().unwrap().len(), 4);
        // Also if the time lies between two commits.
        assert_eq!(bd.json(&["show", "bd-1", "--as-of", &then])[0]["title"], "old title");
        assert!(bd.text(&["diff", &first]).contains("title: old title → new title"));
        bd.error(&["diff", "0000000"], "not_found");
        bd.error(&["diff", "soon"], "invalid_value");
    });
}

#[test]
fn dependencies_that_came_and_went_are_in_the_log() {
    both(|bd| {
        bd.create(&["blocker", "--id", "bd-1"]);
        bd.create(&["epic", "--id", "bd-2", "-t", "epic"]);
        bd.create(&["waits", "--id", "bd-3", "--deps", "bd-1"]);
        saved(bd);
        bd.json_as("bob", &["dep", "remove", "bd-3", "bd-1"]);
        saved(bd);
        bd.json(&["dep", "add", "bd-3", "bd-1"]);
        saved(bd);
        bd.json_as("bob", &["update", "bd-3", "--parent", "bd-2"]);
        bd.json(&["dep", "remove", "bd-3", "bd-1"]);
        let log = bd.json(&["log", "bd-3"]);
        let edges: Vec<_> = log["writes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|write| {
                let one = &write["dependencies"][0];
                (
                    write["by"].clone(),
                    one["status"].clone(),
                    one["depends_on_id"].clone(),
                    one["type"].clone(),
                )
            })
            .collect();
        let edge =
            |by: &str, status: &str, to: &str, kind: &str| (json!(by), json!(status), json!(to), json!(kind));
        assert_eq!(
            edges,
            [
                edge(ACTOR, "added", "bd-1", "blocks"),
                edge("bob", "removed", "bd-1", "blocks"),
                edge(ACTOR, "added", "bd-1", "blocks"),
                edge("bob", "added", "bd-2", "parent-child"),
                edge(ACTOR, "removed", "bd-1", "blocks"),
            ],
            "{log}"
        );
        assert_eq!(log["writes"][0]["created"], true, "the initial values");
        let text = bd.text(&["log", "bd-3"]);
        assert!(text.contains("bob  -blocks bd-1") && text.contains("bob  +parent bd-2"), "{text}");
        assert_eq!(
            bd.json(&["log", "bd-1"])["writes"].as_array().map(Vec::len),
            Some(1),
            "not its own doing"
        );
    });
}
