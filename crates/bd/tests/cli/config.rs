use serde_json::json;

use crate::sandbox::both;

#[test]
fn every_key_is_listed_and_can_be_set_and_unset() {
    both(|bd| {
        let defaults = bd.json(&["config", "list"]);
        for (key, value) in [
            ("claim.lease", "2h"),
            ("daemon.idle", "30m"),
            ("issue_prefix", "bd"),
            ("sync.max_delay", "5s"),
            ("sync.quiet", "500ms"),
        ] {
            assert_eq!(defaults[key], value, "{key}");
        }
        for key in ["claim.lease", "daemon.idle", "sync.max_delay", "sync.quiet"] {
            let set = bd.json(&["config", "set", key, "90m"]);
            assert_eq!(set, json!({"key": key, "value": "90m"}));
            assert_eq!(bd.json(&["config", "get", key])["value"], "90m");
            assert_eq!(bd.text(&["config", "get", key]), "90m\n");
            bd.json(&["config", "unset", key]);
        }
        assert_eq!(bd.json(&["config", "list"]), defaults);
        for (key, value) in defaults.as_object().unwrap() {
            assert_eq!(bd.json(&["config", "get", key])["value"], *value, "{key}");
        }
        assert!(bd.text(&["config", "list"]).contains("claim.lease = 2h\n"));
    });
}

#[test]
fn an_unknown_key_is_refused() {
    both(|bd| {
        let before = bd.json(&["config", "list"]);
        bd.error(&["config", "set", "claim.leese", "1h"], "unknown_key");
        bd.error(&["config", "get", "nope"], "unknown_key");
        bd.error(&["config", "unset", "nope"], "unknown_key");
        bd.error(&["config", "unset", "issue_prefix"], "invalid_value");
        for (key, bad) in
            [("claim.lease", "soon"), ("daemon.idle", ""), ("issue_prefix", "UPPER"), ("issue_prefix", "")]
        {
            bd.error(&["config", "set", key, bad], "invalid_value");
        }
        bd.error(&["config", "set", "claim.lease"], "usage");
        assert_eq!(bd.json(&["config", "list"]), before);
    });
}

#[test]
fn the_lease_and_the_prefix_have_an_effect() {
    both(|bd| {
        bd.text(&["config", "set", "claim.lease", "10m"]);
        let id = bd.create(&["x"]);
        let bead = bd.json(&["claim", &id]);
        let expires = bead["assignee_expires"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let lease = expires.as_millisecond() - bead["assignee_at"][0].as_i64().unwrap();
        assert!((590_000..=610_000).contains(&lease), "{lease}");
        bd.text(&["config", "set", "issue_prefix", "my-app"]);
        assert!(bd.create(&["y"]).starts_with("my-app-"));
        assert_eq!(bd.json(&["config", "get", "issue_prefix"])["value"], "my-app");
        assert_eq!(bd.show(&id)["id"], id, "what has an id keeps it");
    });
}

#[test]
fn changes_are_saved_to_the_ref_after_the_configured_delay() {
    both(|bd| {
        bd.create(&["x"]);
        // With a daemon, after a short quiet time; without one, by the first command after the maximum delay.
        bd.text(&["config", "set", "sync.quiet", "1ms"]);
        bd.text(&["config", "set", "sync.max_delay", "1ms"]);
        bd.create(&["y"]);
        crate::sandbox::wait_until("both changes are saved", || bd.json(&["status"])["unsaved"] == 0);
    });
}

#[test]
fn every_key_is_described() {
    both(|bd| {
        let all = bd.json(&["config", "describe"]);
        let keys: Vec<&str> =
            all.as_array().unwrap().iter().map(|one| one["key"].as_str().unwrap()).collect();
        let listed = bd.json(&["config", "list"]);
        let listed: Vec<&str> = listed.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, listed);
        assert!(
            all.as_array().unwrap().iter().all(|one| !one["about"].as_str().unwrap().is_empty()),
            "{all}"
        );
        bd.json(&["config", "set", "claim.lease", "4h"]);
        let one = bd.json(&["config", "describe", "claim.lease"]);
        assert_eq!(
            one,
            json!([{"key": "claim.lease", "value": "4h", "default": "2h", "synced": false, "about": "how long a claim lasts"}])
        );
        assert_eq!(
            bd.text(&["config", "describe", "claim.lease"]),
            "claim.lease = 4h\n    how long a claim lasts\n    default: 2h; for this clone\n"
        );
        bd.error(&["config", "describe", "nope"], "unknown_key");
    });
}
