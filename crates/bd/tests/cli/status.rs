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
fn ready_counts_what_is_handed_out_and_the_holders_are_named() {
    both(|bd| {
        bd.create(&["epic", "--id", "bd-e", "-t", "epic"]);
        bd.create(&["child", "--id", "bd-1", "--parent", "bd-e"]);
        bd.create(&["for dee", "--id", "bd-2", "--assignee", "dee"]);
        bd.create(&["held", "--id", "bd-3"]);
        bd.json_as("bob", &["claim", "bd-3"]);
        let status = bd.json(&["status"]);
        assert_eq!(
            status["summary"]["ready_issues"], 1,
            "the epic waits, and bd-2 is only for dee: {status}"
        );
        assert_eq!(
            (&status["working"][0]["id"], &status["working"][0]["holder"]),
            (&"bd-3".into(), &"bob".into())
        );
        assert_eq!(
            (&status["waiting"][0]["need"], &status["waiting"][0]["id"]),
            (&"assigned".into(), &"bd-2".into())
        );
        let text = bd.text(&["status"]);
        assert!(
            text.contains("bob works on bd-3 since ") && text.contains("waits for a person: bd-2"),
            "{text}"
        );
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
fn unsynced_changes_have_an_age() {
    both(|bd| {
        // The remote cannot be reached, so nothing is synced.
        let gone = bd.root().join("gone.git");
        bd.repository().remote("origin", gone.to_str().unwrap()).unwrap();
        let age = || {
            let sync = bd.json(&["status"])["sync"].clone();
            assert_eq!(sync["unsynced"], 1, "{sync}");
            assert!(sync["oldest_unsynced_ms"].is_u64(), "{sync}");
        };
        bd.create(&["x"]);
        age();
        // The change is saved in a commit and no longer in the journal.
        assert_ne!(bd.run(&["sync", "--json"]).exit, Some(0));
        age();
        bd.text(&["daemon", "stop"]);
        age();
    });
}
