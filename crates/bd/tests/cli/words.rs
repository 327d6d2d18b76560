//! Words of other trackers for statuses and types, and the format that they need.

use serde_json::json;

use crate::sandbox::both;

#[test]
fn a_word_is_kept_beside_the_status_and_raises_the_format_once() {
    both(|bd| {
        bd.create(&["one", "--id", "bd-1"]);
        assert_eq!(bd.json(&["status"])["format_version"], 1);
        let first = bd.run(&["update", "bd-1", "--status", "Deferred"]);
        assert!(first.stderr.contains("format 2"), "{}", first.stderr);
        let again = bd.run(&["update", "bd-1", "--status", "blocked"]);
        assert!(!again.stderr.contains("format"), "{}", again.stderr);
        assert_eq!(bd.json(&["status"])["format_version"], 2);
        let spec = &bd.json(&["show", "bd-1", "--json=spec"])[0];
        assert_eq!((&spec["status"], &spec["state"]), (&json!("open"), &json!("blocked")));
        assert_eq!(spec["if_hash"], format!("{}+blocked/", spec["content_hash"].as_str().unwrap()));
        let compat = &bd.json(&["show", "bd-1", "--json=compat"])[0];
        assert_eq!((&compat["status"], compat.get("state")), (&json!("blocked"), None));
        assert_eq!(bd.json(&["ready"]), json!([]));
        assert_eq!(bd.json(&["list", "--status", "blocked"])[0]["id"], "bd-1");
        assert!(bd.text(&["list"]).contains("blocked"));
    });
}

#[test]
fn types_have_words_and_memories_stay_out_of_the_way() {
    both(|bd| {
        bd.create(&["why", "--id", "bd-1", "-t", "decision"]);
        bd.create(&["remember", "--id", "bd-2", "-t", "memory"]);
        let compat = &bd.json(&["show", "bd-1", "--json=compat"])[0];
        assert_eq!((&compat["issue_type"], &compat["type"]), (&json!("decision"), &json!("decision")));
        let listed = bd.json(&["list"]);
        assert_eq!((listed.as_array().unwrap().len(), &listed[0]["type_word"]), (1, &json!("decision")));
        assert_eq!(bd.json(&["list", "--type", "memory"])[0]["id"], "bd-2");
        assert_eq!(bd.json(&["ready"]).as_array().unwrap().len(), 1);
    });
}

#[test]
fn unknown_words_are_refused_with_the_list_until_a_setting_adds_them() {
    both(|bd| {
        bd.create(&["one", "--id", "bd-1"]);
        let error = bd.error(&["update", "bd-1", "--status", "qa"], "invalid_value");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("in_progress, closed, blocked") && message.contains("status.custom"),
            "{message}"
        );
        bd.error(&["config", "set", "status.custom", "open"], "invalid_value");
        bd.text(&["config", "set", "status.custom", "qa:in_progress"]);
        assert_eq!(bd.json(&["config", "get", "status.custom"])["value"], "qa:in_progress");
        bd.text(&["update", "bd-1", "--status", "qa"]);
        let spec = &bd.json(&["show", "bd-1", "--json=spec"])[0];
        assert_eq!((&spec["status"], &spec["state"]), (&json!("in_progress"), &json!("qa")));
        bd.text(&["config", "unset", "status.custom"]);
        bd.error(&["update", "bd-1", "--status", "qa"], "invalid_value");
    });
}

#[test]
fn migrate_raises_the_format_and_only_then() {
    both(|bd| {
        bd.create(&["one"]);
        let inspected = bd.json(&["migrate", "--inspect"]);
        assert_eq!((&inspected["current_version"], &inspected["latest_version"]), (&json!(1), &json!(2)));
        assert_eq!(bd.json(&["migrate"])["current_version"], 2);
        assert_eq!(bd.json(&["migrate"])["current_version"], 2, "once more changes nothing");
    });
}
