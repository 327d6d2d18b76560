use crate::sandbox::{ACTOR, both};
use crate::schema::{check_note, check_time};

#[test]
fn notes_are_appended_in_order_with_their_authors() {
    both(|bd| {
        let id = bd.create(&["x"]);
        let note = bd.json(&["note", "add", &id, "reproduced", "on", "main"]);
        check_note(&note);
        assert_eq!(note["content"], "reproduced on main");
        assert_eq!(note["text"], note["content"]);
        assert_eq!(note["author"], ACTOR);
        assert_eq!(note["issue_id"], id);
        check_time(note["created_at"].as_str().unwrap());
        let second = bd.json_as("bob", &["note", &id, "short form"]);
        let log = bd.json(&["note", "list", &id]);
        assert_eq!(log, serde_json::json!([note, second]));
        for other in [&["note", &id][..], &["comments", &id], &["comment", "list", &id]] {
            assert_eq!(bd.json(other), log, "{other:?}");
        }
        let bead = bd.show(&id);
        assert_eq!(bead["notes"][1]["id"], second["id"]);
        assert_eq!(bead["updated_by"], "bob", "a note is an update");
        assert_eq!(bead["updated_at"], second["created_at"]);
        let text = bd.text(&["note", "list", &id]);
        assert!(text.contains(ACTOR) && text.contains("  reproduced on main\n"), "{text}");
    });
}

#[test]
fn an_empty_log_is_an_empty_array_and_an_empty_note_is_refused() {
    both(|bd| {
        let id = bd.create(&["x"]);
        assert_eq!(bd.json(&["note", "list", &id]), serde_json::json!([]));
        assert_eq!(bd.text(&["note", "list", &id]), "");
        bd.error(&["note", "add", &id], "usage");
        bd.error(&["note", "add", &id, " "], "invalid_value");
        bd.error(&["note"], "usage");
        assert_eq!(bd.json(&["note", "list", &id]), serde_json::json!([]));
    });
}

#[test]
fn a_repeated_request_gets_the_first_answer_whatever_was_noted_since() {
    both(|bd| {
        let id = bd.create(&["x"]);
        let first = bd.json(&["note", "add", &id, "once", "--request-id", "r1"]);
        bd.json(&["note", "add", &id, "meanwhile"]);
        assert_eq!(bd.json(&["note", "add", &id, "once", "--request-id", "r1"]), first);
        assert_eq!(bd.json(&["note", "list", &id]).as_array().unwrap().len(), 2);
    });
}
