//! `remember`, `recall` and `forget`.

use serde_json::{Value, json};

use crate::mcp::client::Client;
use crate::sandbox::{ACTOR, Mode, Sandbox, both, ids_of};

/// Remembers a text. The first memory of a store raises its format, which is reported on standard error.
pub fn remember(bd: &Sandbox, args: &[&str]) -> Value {
    let run = bd.run(&[&["remember", "--json"], args].concat());
    assert_eq!(run.exit, Some(0), "{args:?}: {run:?}");
    run.value()
}

fn keys(memories: &Value) -> Vec<&str> {
    memories.as_array().unwrap().iter().map(|memory| memory["key"].as_str().unwrap()).collect()
}

#[test]
fn memories_are_recalled_by_key_and_by_text() {
    both(|bd| {
        let first = remember(bd, &["Parser tests need LANG=C\nor they fail"]);
        assert_eq!(first["external_ref"], "memory:parser-tests-need-lang-c-or");
        assert_eq!((&first["issue_type"], &first["type_word"]), (&json!("chore"), &json!("memory")));
        let text = bd.text(&["--actor", "bob", "remember", "--key", "release", "tag first,", "then publish"]);
        assert!(text.starts_with("remembered release as bd-"), "{text}");

        let index = bd.json(&["recall"]);
        assert_eq!(keys(&index), ["release", "parser-tests-need-lang-c-or"], "the newest first");
        assert_eq!((&index[0]["author"], &index[1]["author"]), (&json!("bob"), &json!(ACTOR)));
        assert_eq!(index[1]["text"], "Parser tests need LANG=C", "the list has beginnings");
        let text = bd.text(&["recall"]);
        assert!(text.starts_with("release") && text.contains("(bob, ") && text.contains(" ago)"), "{text}");

        let one = bd.json(&["recall", "release"]);
        assert_eq!(
            (one[0]["text"].as_str(), one[0].get("is_brief")),
            (Some("tag first, then publish"), None)
        );
        assert_eq!(keys(&bd.json(&["recall", "lang", "FAIL"])), ["parser-tests-need-lang-c-or"]);
        assert_eq!(bd.json(&["recall", "unheard of"]), json!([]));
        assert!(bd.text(&["recall", "lang"]).contains("\n  or they fail\n"));
        bd.error(&["remember", "?!"], "invalid_value");
        bd.error(&["remember", "  ", "--key", "k"], "invalid_value");
        bd.error(&["remember", "x", "--key", "two words"], "invalid_value");
    });
}

#[test]
fn the_newest_memory_of_a_key_is_shown_and_all_are_kept_until_forgotten() {
    both(|bd| {
        let old = remember(bd, &["-k", "port", "8080"])["id"].clone();
        let new = bd.json_as("bob", &["remember", "-k", "port", "9090"])["id"].clone();
        bd.text(&["remember", "-k", "other", "mentions port too"]);
        let shown = bd.json(&["recall", "port"]);
        assert_eq!((keys(&shown), &shown[0]["text"]), (vec!["port"], &json!("9090")));
        assert_eq!((&shown[0]["id"], &shown[0]["earlier"]), (&new, &json!([old])));
        assert_eq!(bd.json(&["list", "--type", "memory"]).as_array().unwrap().len(), 3);

        let error = bd.error(&["forget", "mentions"], "not_found");
        assert!(error["message"].as_str().unwrap().contains("bd recall lists the keys"), "{error}");
        assert_eq!(ids_of(&bd.json(&["forget", "port"])).len(), 2);
        assert_eq!(keys(&bd.json(&["recall"])), ["other"]);
        bd.error(&["forget", "port"], "not_found");
        bd.text(&["restore", old.as_str().unwrap()]);
        assert_eq!(bd.json(&["recall", "port"])[0]["text"], "8080");
    });
}

#[test]
fn memories_are_not_work() {
    both(|bd| {
        let work = bd.create(&["Cache the templates", "-l", "a"]);
        let before = bd.json(&["status"])["summary"].clone();
        let views: [&[&str]; 8] = [
            &["list"],
            &["count"],
            &["count", "--by-type"],
            &["ready"],
            &["ready", "--explain"],
            &["plan"],
            &["graph"],
            &["label", "list-all"],
        ];
        let all = || views.map(|view| bd.json(view));
        let seen = all();
        let run = bd.run(&["remember", "-k", "templates", "Cache the templates"]);
        assert!(!run.stderr.contains("nearly the same"), "{run:?}");
        let memory = bd.json(&["recall", "templates"])[0]["id"].as_str().unwrap().to_owned();
        bd.text(&["label", "add", &memory, "b"]);
        assert_eq!(all(), seen);
        let status = bd.json(&["status"]);
        assert_eq!((&status["summary"], &status["memories"]), (&before, &json!(1)));
        let twin = bd.json(&["create", "Cache the template"]);
        assert_eq!(ids_of(&twin["similar"]), [work]);

        // Not even one whose lease expired.
        bd.text(&["claim", &memory, "--lease", "1h"]);
        assert_eq!(bd.json(&["ready", "--type", "memory"]), json!([]));
        let exported = bd.text(&["export"]);
        assert!(exported.contains("memory:templates"), "{exported}");
        bd.text(&["forget", "templates"]);
        assert_eq!(bd.json(&["status"])["summary"]["deleted_issues"], 0);
    });
}

#[test]
fn imported_and_own_memories_share_their_keys() {
    let bd = Sandbox::new(Mode::Embedded);
    let file = bd.root().join("old.jsonl");
    let path = file.to_str().unwrap();
    let line = json!({"_type": "memory", "key": "port", "value": "8080"});
    std::fs::write(&file, format!("{line}\n")).unwrap();
    assert_eq!(bd.run(&["import", path]).exit, Some(0));
    assert_eq!(bd.json(&["recall", "port"])[0]["text"], "8080");
    remember(&bd, &["-k", "port", "9090"]);
    let shown = bd.json(&["recall", "port"]);
    assert_eq!((&shown[0]["text"], shown[0]["earlier"].as_array().unwrap().len()), (&json!("9090"), 1));
    // Memories written here are exported and imported again.
    std::fs::write(&file, bd.text(&["export"])).unwrap();
    let other = Sandbox::new(Mode::Embedded);
    assert_eq!(other.run(&["import", path]).exit, Some(0));
    assert_eq!(other.json(&["recall", "port"])[0]["text"], "9090");
}

#[test]
fn agents_remember_through_note_and_recall_through_status() {
    both(|bd| {
        bd.create(&["Work"]);
        let mut client = Client::start(bd);
        let kept = client.call("note", json!({"text": "The port is 9090.\nNot 8080.", "remember": "port"}));
        assert_eq!(kept, "remembered port\nstatus {\"recall\":\"port\"}");
        let status = client.call("status", json!({}));
        assert_eq!(status, "no focus | ready 1, blocked 0, open 1, memories 1\nnext");
        let recalled = client.run(kept.lines().nth(1).unwrap());
        let lines: Vec<&str> = recalled.lines().collect();
        assert_eq!(lines[..2], ["memories 1 for \"port\"", "status"]);
        assert!(
            lines[2].starts_with("  port by ") && lines[2].ends_with(": The port is 9090."),
            "{recalled}"
        );
        assert_eq!(lines[3], "  Not 8080.");
        let index = client.call("status", json!({"recall": "*"}));
        assert!(index.starts_with("memories 1\n") && !index.contains("8080"), "{index}");
        let none = client.call("status", json!({"recall": "tea"}));
        assert_eq!(none, "memories 0 for \"tea\"\nstatus {\"recall\":\"*\"}");
        let refused = client.fail("note", json!({"text": "x", "remember": "k", "id": "bd-1"}));
        assert!(refused.starts_with("ERROR"), "{refused}");
    });
}
