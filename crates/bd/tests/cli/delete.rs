use crate::sandbox::{both, ids_of};
use crate::schema::{check_bead, check_time};

#[test]
fn a_deleted_bead_is_hidden_and_restored_completely() {
    both(|bd| {
        let (id, other) = (bd.create(&["x", "-d", "kept", "-l", "red"]), bd.create(&["other"]));
        bd.json(&["dep", "add", &other, &id]);
        bd.json(&["note", "add", &id, "kept too"]);
        let before = bd.show(&id);
        let answer = bd.json_as("bob", &["delete", &id, "--reason", "duplicate"]);
        assert_eq!(ids_of(&answer), [id.as_str()]);
        check_bead(&answer[0]);
        assert_eq!(answer[0]["deleted"]["deleted_by"], "bob");
        assert_eq!(answer[0]["deleted"]["reason"], "duplicate");
        check_time(answer[0]["deleted"]["deleted_at"].as_str().unwrap());

        assert_eq!(bd.ids(&["list"]), [other.as_str()]);
        assert_eq!(bd.ids(&["search", "kept"]), Vec::<String>::new());
        let deleted = bd.json(&["deleted"]);
        assert_eq!(deleted[0], answer[0]);
        let text = bd.text(&["deleted"]);
        assert!(text.contains("by bob: duplicate"), "{text}");

        let restored = bd.json(&["restore", &id, "--reason", "it was not"])[0].clone();
        check_bead(&restored);
        assert_eq!(bd.json(&["deleted"]), serde_json::json!([]));
        for field in ["title", "description", "labels", "dependents", "created_at", "status"] {
            assert_eq!(restored[field], before[field], "{field}");
        }
        assert_eq!(restored["notes"][0], before["notes"][0]);
        assert_eq!(restored["notes"][1]["content"], "it was not");
        assert!(restored.get("deleted").is_none());
        // Restoring a live bead changes nothing.
        let everything = bd.everything();
        bd.json(&["restore", &id]);
        assert_eq!(bd.everything(), everything);
    });
}

#[test]
fn without_a_reason_the_reason_is_null() {
    both(|bd| {
        let id = bd.create(&["x"]);
        assert_eq!(bd.text(&["delete", &id]), format!("deleted {id}: x\n"));
        assert!(bd.json(&["deleted"])[0]["deleted"]["reason"].is_null());
        assert_eq!(bd.text(&["restore", &id]), format!("restored {id}: x\n"));
        assert_eq!(bd.show(&id)["notes"][0]["content"], "restored");
    });
}

#[test]
fn several_at_once_and_a_dry_run() {
    both(|bd| {
        let (a, b) = (bd.create(&["a"]), bd.create(&["b"]));
        let before = bd.everything();
        let rehearsed = bd.json(&["delete", &a, &b, "--dry-run"]);
        assert_eq!(ids_of(&rehearsed), [a.clone(), b.clone()]);
        assert_eq!(bd.everything(), before);
        let error = bd.error(&["delete", &a, "bd-nope"], "partial_failure");
        assert_eq!(ids_of(&error["details"]["failed"]), ["bd-nope"]);
        assert_eq!(bd.ids(&["list"]), [b.as_str()]);
        let error = bd.error(&["restore", &a, "bd-nope"], "partial_failure");
        assert_eq!(ids_of(&error["details"]["failed"]), ["bd-nope"]);
        assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 2);
    });
}
