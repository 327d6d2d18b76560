use serde_json::{Value, json};

use crate::sandbox::both;

#[test]
fn the_log_of_the_store_can_be_filtered() {
    both(|bd| {
        bd.create(&["first", "--id", "bd-1"]);
        bd.create(&["second", "--id", "bd-2"]);
        bd.json_as("bob", &["claim", "bd-1"]);
        bd.json_as("bob", &["note", "add", "bd-1", "halfway"]);
        bd.json_as("bob", &["close", "bd-1"]);
        let kinds = |args: &[&str]| -> Vec<String> {
            let answer = bd.json(&[&["activity"][..], args].concat());
            assert_eq!(answer["complete"], true, "{answer}");
            let events = answer["events"].as_array().unwrap();
            events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
        };
        let all = kinds(&[]);
        assert_eq!((all.first().unwrap().as_str(), all.last().unwrap().as_str()), ("created", "closed"));
        assert_eq!(kinds(&["--kind", "created,closed"]), ["created", "created", "closed"]);
        assert_eq!(kinds(&["--bead", "bd-2"]), ["created"]);
        assert_eq!(kinds(&["--actor", "bob", "--kind", "claimed,created"]), ["claimed"]);
        assert_eq!(kinds(&["--limit", "1"]), ["closed"], "the newest");
        assert_eq!(kinds(&["--since", "0s"]), Vec::<String>::new());
        let text = bd.text(&["activity", "--kind", "note"]);
        assert!(text.contains("note      bd-1 first by bob: halfway"), "{text}");
        bd.error(&["activity", "--kind", "sung"], "invalid_value");
        bd.error(&["activity", "--bead", "bd-none"], "not_found");
    });
}

#[test]
fn notes_of_an_actor_on_all_beads() {
    both(|bd| {
        bd.create(&["first", "--id", "bd-1"]);
        bd.create(&["second", "--id", "bd-2"]);
        bd.json_as("bob", &["comment", "add", "bd-1", "one"]);
        bd.json_as("cy", &["comment", "add", "bd-1", "not his"]);
        bd.json_as("bob", &["comment", "add", "bd-2", "two"]);
        let notes = |args: &[&str]| -> Vec<Value> {
            let listed = bd.json(&[&["note", "list", "--author", "bob"][..], args].concat());
            listed.as_array().unwrap().iter().map(|note| json!([note["issue_id"], note["text"]])).collect()
        };
        assert_eq!(notes(&[]), [json!(["bd-1", "one"]), json!(["bd-2", "two"])]);
        assert_eq!(notes(&["bd-2"]), [json!(["bd-2", "two"])]);
        assert_eq!(bd.run(&["note", "list"]).exit, Some(2), "an id or an author is required");
    });
}
