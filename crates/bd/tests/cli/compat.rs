//! `bd init --compat`: a store that clients written for the Go `bd` can find and read.

use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, both, is_clean, wait_until};

fn is_compat(bd: &Sandbox, id: &str) -> bool {
    bd.show(id)["notes"].is_null()
}

#[test]
fn the_dialect_is_a_property_of_the_store() {
    both(|bd| {
        let id = bd.create(&["x"]);
        assert!(!is_compat(bd, &id));
        let text = bd.text(&["init", "--compat"]);
        assert!(text.contains("json.dialect = compat"), "{text}");
        assert!(is_compat(bd, &id), "without any variable");
        assert!(
            bd.run(&["show", &id, "--json=spec"]).value()[0]["notes"].is_array(),
            "asked for, it is still spec"
        );
        let metadata: Value =
            serde_json::from_slice(&std::fs::read(bd.dir().join(".beads/metadata.json")).unwrap()).unwrap();
        assert_eq!(metadata["jsonl_export"], "issues.jsonl");
        assert!(is_clean(&bd.repository()), "git sees none of it");
        let answer = bd.json(&["init", "--compat"]);
        assert_eq!(answer["compat"]["export_path"], ".beads/issues.jsonl", "{answer}");
        assert_eq!(bd.json(&["doctor"])["checks"][2]["status"], "ok");
        bd.text(&["setup", "clients", "--check"]);
        // Clients that watch the file see every change.
        let made = bd.create(&["live"]);
        let exported = bd.dir().join(".beads/issues.jsonl");
        wait_until("the change is exported", || std::fs::read_to_string(&exported).unwrap().contains(&made));
        bd.text(&["setup", "clients", "--remove"]);
        bd.error(&["setup", "clients", "--check"], "not_set_up");
    });
}

/// The directory alone changes nothing: it is often committed, and a checkout must not change the format of
/// answers.
#[test]
fn a_beads_directory_alone_only_causes_a_hint() {
    both(|bd| {
        let id = bd.create(&["x"]);
        std::fs::create_dir(bd.dir().join(".beads")).unwrap();
        std::fs::write(bd.dir().join(".beads/metadata.json"), "{}").unwrap();
        bd.text(&["daemon", "stop"]);
        let first = bd.run(&["show", &id, "--json"]);
        assert!(first.stderr.contains("bd init --compat"), "{first:?}");
        assert!(first.value()[0]["notes"].is_array());
        assert_eq!(bd.run(&["show", &id, "--json"]).stderr, "", "said once");
        let doctor = bd.json(&["doctor"]);
        assert_eq!(doctor["checks"][3]["findings"][0]["code"], "clients_not_set_up", "{doctor}");
        assert_eq!(doctor["overall_ok"], true);
        bd.text(&["setup", "clients"]);
        assert!(is_compat(bd, &id));
        assert_eq!(std::fs::read(bd.dir().join(".beads/metadata.json")).unwrap(), b"{}", "left as it is");
    });
}

#[test]
fn importing_a_go_era_directory_sets_the_dialect() {
    both(|bd| {
        let beads = bd.dir().join(".beads");
        std::fs::create_dir(&beads).unwrap();
        let line = r#"{"id":"bd-1","title":"Old","status":"open","priority":2,"issue_type":"task","created_at":"2025-01-01T00:00:00Z","updated_at":"2025-01-01T00:00:00Z"}"#;
        std::fs::write(beads.join("issues.jsonl"), format!("{line}\n")).unwrap();
        std::fs::copy(beads.join("issues.jsonl"), bd.dir().join("plain.jsonl")).unwrap();
        bd.json(&["import", "plain.jsonl"]);
        assert!(!is_compat(bd, "bd-1"), "a file elsewhere says nothing about clients");
        let run = bd.run(&["import", ".beads/issues.jsonl", "--json"]);
        assert!(run.stderr.starts_with("note: json.dialect is now compat"), "{run:?}");
        assert!(is_compat(bd, "bd-1"));
    });
}

/// Otherwise every change of a bead would modify the work tree.
#[test]
fn nothing_is_exported_into_a_tracked_file() {
    both(|bd| {
        std::fs::create_dir(bd.dir().join(".beads")).unwrap();
        std::fs::write(bd.dir().join(".beads/issues.jsonl"), "").unwrap();
        let repository = bd.repository();
        let mut index = repository.index().unwrap();
        index.add_path(Path::new(".beads/issues.jsonl")).unwrap();
        index.write().unwrap();
        let answer = bd.json(&["init", "--compat"]);
        assert!(answer["compat"]["export_path"].is_null(), "{answer}");
        assert!(answer["compat"]["not_exported"].as_str().unwrap().contains("tracked"), "{answer}");
        bd.error(&["config", "set", "export.path", ".beads/issues.jsonl"], "invalid_value");
        // The file is added to the index after the setting was made, so this is checked before each write.
        bd.text(&["config", "set", "export.path", "later.jsonl"]);
        index.add_path(Path::new("later.jsonl")).unwrap();
        index.write().unwrap();
        let before = std::fs::read(bd.dir().join("later.jsonl")).unwrap();
        bd.create(&["x"]);
        bd.text(&["daemon", "stop"]);
        assert_eq!(std::fs::read(bd.dir().join("later.jsonl")).unwrap(), before);
        let doctor = bd.json(&["doctor"]);
        assert_eq!(doctor["checks"][3]["findings"][0]["code"], "export_tracked", "{doctor}");
    });
}

/// `bd note` appends to the field that these clients read, with and without `--json`; `bd comment` adds a comment.
#[test]
fn a_note_goes_to_the_notes_of_a_store_in_compat() {
    both(|bd| {
        let id = bd.create(&["x"]);
        bd.text(&["note", &id, "in the log"]);
        bd.text(&["config", "set", "json.dialect", "compat"]);
        bd.text(&["note", &id, "- one"]);
        let noted = bd.json(&["note", "add", &id, "- two"]);
        assert_eq!((&noted["id"], &noted["notes"]), (&json!(id), &json!("- one\n- two")));
        bd.text(&["comment", &id, "said"]);
        let bead = bd.show(&id);
        assert_eq!(bead["notes"], "- one\n- two");
        let texts: Vec<_> = bead["comments"].as_array().unwrap().iter().map(|note| &note["text"]).collect();
        assert_eq!(texts, ["in the log", "said"]);
        bd.error(&["note", &id, " "], "invalid_value");
        // The dialect that the caller asks for takes precedence over the setting.
        let spec = bd.run(&["note", &id, "to the log", "--json=spec"]).value();
        assert_eq!(spec["text"], "to the log");
        assert_eq!(bd.show(&id)["notes"], "- one\n- two");
    });
}

/// In the compat dialect, `notes` is a single text, and the notes of the log are comments.
#[test]
fn notes_are_not_comments() {
    both(|bd| {
        let id = bd.create(&["x", "--notes", "first"]);
        bd.json(&["update", &id, "--notes", "- a\n- list"]);
        bd.json(&["comment", &id, "- said", "--author", "carl"]);
        bd.json(&["update", &id, "--append-notes", "- more"]);
        let bead = bd.run(&["show", &id, "--json=compat"]).value()[0].clone();
        assert_eq!(bead["notes"], "- a\n- list\n- more");
        assert_eq!(
            (&bead["comment_count"], &bead["comments"][0]["text"]),
            (&1.into(), &"- said".into()),
            "{bead}"
        );
        assert_eq!(bead["comments"][0]["author"], "carl");
        assert_eq!(bd.run(&["comments", &id, "--json=compat"]).value().as_array().unwrap().len(), 1);
        assert_eq!(bd.run(&["comments", &id, "--json=spec"]).value().as_array().unwrap().len(), 4);
    });
}
