//! What beads-mcp calls to look after a store: `doctor`, `repair-deps`, `migrate --inspect` and `info --schema`.

use serde_json::json;

use crate::sandbox::both;

#[test]
fn a_healthy_store() {
    both(|bd| {
        bd.create(&["one", "--id", "bd-1"]);
        let doctor = bd.json(&["doctor", "--check=validate"]);
        assert_eq!(doctor["overall_ok"], true, "{doctor}");
        assert_eq!(
            (&doctor["checks"][0]["name"], &doctor["checks"][0]["status"]),
            (&json!("store"), &json!("ok"))
        );
        assert!(bd.text(&["doctor"]).starts_with("store         ok"));
        let migration = bd.json(&["migrate", "--inspect"]);
        assert_eq!((&migration["needs_migration"], &migration["issue_count"]), (&json!(false), &json!(1)));
        assert!(bd.text(&["migrate", "--inspect"]).contains("nothing to migrate"));
        let schema = &bd.json(&["info", "--schema"])["schema"];
        assert_eq!(schema["sample_ids"], json!(["bd-1"]));
        assert!(schema["fields"].as_array().unwrap().contains(&json!("acceptance_criteria")), "{schema}");
        assert!(bd.json(&["info"]).get("schema").is_none());
        assert_eq!(bd.json(&["repair-deps"]), json!({"orphans_found": 0, "orphans": [], "fixed": 0}));
    });
}

#[test]
fn dependencies_on_deleted_beads_are_found_and_removed_when_asked() {
    both(|bd| {
        bd.create(&["gone", "--id", "bd-1"]);
        bd.create(&["waits", "--id", "bd-2", "--deps", "bd-1"]);
        bd.json(&["delete", "bd-1"]);
        let orphan = json!({"issue_id": "bd-2", "depends_on_id": "bd-1", "type": "blocks", "kind": "blocks", "reason": "deleted"});
        let found = json!({"orphans_found": 1, "orphans": [orphan], "fixed": 0});
        assert_eq!(bd.json(&["repair-deps"]), found);
        assert_eq!(bd.json(&["repair-deps"]), found, "looking changes nothing");
        let doctor = bd.json(&["doctor", "--check=validate"]);
        assert_eq!((&doctor["checks"][1]["status"], &doctor["fixed"]), (&json!("ok"), &json!(0)), "{doctor}");
        assert_eq!(doctor["checks"][1]["findings"][0]["code"], "orphaned_dependency");
        assert_eq!(bd.json(&["doctor", "--check=validate", "--fix", "--yes"])["fixed"], 1);
        assert_eq!(bd.text(&["repair-deps", "--fix"]), "0 found, 0 removed\n");
    });
}

/// Nothing is deleted on a guess, and the error says what to do instead.
#[test]
fn what_there_is_not_is_refused_clearly() {
    both(|bd| {
        for args in
            [&["doctor", "--check=pollution"][..], &["doctor", "--check=pollution", "--clean", "--yes"]]
        {
            let error = bd.error(args, "invalid_value");
            assert!(error["message"].as_str().unwrap().contains("bd search"), "{error}");
        }
        bd.error(&["doctor", "--check=weather"], "invalid_value");
    });
}
