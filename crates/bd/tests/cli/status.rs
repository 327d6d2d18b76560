use crate::sandbox::both;

#[test]
fn the_store_in_numbers() {
    both(|bd| {
        for id in ["bd-1", "bd-2", "bd-3", "bd-4", "bd-5"] {
            bd.create(&["x", "--id", id]);
        }
        bd.json(&["close", "bd-1"]);
        bd.json(&["claim", "bd-2"]);
        bd.json(&["dep", "add", "bd-3", "bd-4"]);
        bd.json(&["delete", "bd-5"]);
        let status = bd.json(&["status"]);
        let summary = &status["summary"];
        for (name, count) in [
            ("total_issues", 4),
            ("open_issues", 2),
            ("in_progress_issues", 1),
            ("closed_issues", 1),
            ("blocked_issues", 1),
            ("ready_issues", 1),
            ("deleted_issues", 1),
            ("deferred_issues", 0),
        ] {
            assert_eq!(summary[name], count, "{name}");
        }
        assert_eq!(status["prefix"], "bd");
        assert_eq!(status["ref"], "refs/heads/beads/store");
        assert_eq!(bd.json(&["stats"])["summary"], *summary);
        let text = bd.text(&["status"]);
        assert!(text.contains("in progress       1\n"), "{text}");
    });
}

#[test]
fn sync_saves_to_the_ref_and_says_nothing_when_piped() {
    both(|bd| {
        bd.create(&["x"]);
        assert_eq!(bd.text(&["sync"]), "");
        let status = bd.json(&["status"]);
        assert_eq!(status["unsaved"], 0);
        let tip = bd.repository().refname_to_id("refs/heads/beads/store").unwrap();
        assert_eq!(status["commit"], tip.to_string());
        assert_eq!(bd.run(&["sync", "--json"]).exit, Some(0));
        let again = bd.repository().refname_to_id("refs/heads/beads/store").unwrap();
        assert_eq!(again, tip, "nothing new, no commit");
    });
}

#[test]
fn whatever_is_unsynced_has_an_age() {
    both(|bd| {
        // A remote that cannot be reached: nothing is ever synced.
        let gone = bd.root().join("gone.git");
        bd.repository().remote("origin", gone.to_str().unwrap()).unwrap();
        let age = || {
            let sync = bd.json(&["status"])["sync"].clone();
            assert_eq!(sync["unsynced"], 1, "{sync}");
            assert!(sync["oldest_unsynced_ms"].is_u64(), "{sync}");
        };
        bd.create(&["x"]);
        age();
        // The change is saved here, and the journal does not know it any more.
        assert_ne!(bd.run(&["sync", "--json"]).exit, Some(0));
        age();
        bd.text(&["daemon", "stop"]);
        age();
    });
}
