use serde_json::json;

use crate::sandbox::{Sandbox, both};

/// A time after every close in these tests.
const LATER: &str = "2099-01-01";

fn closed(bd: &Sandbox, id: &str, title: &str) {
    bd.create(&[title, "--id", id]);
    bd.json(&["close", id, "--reason", "done"]);
}

#[test]
fn archived_beads_leave_the_lists_and_can_be_read_and_restored() {
    both(|bd| {
        closed(bd, "bd-1", "old work");
        bd.create(&["new work", "--id", "bd-2", "--deps", "bd-1"]);
        let none = bd.json(&["archive", "--closed-before", "1d"]);
        assert_eq!(none["archived"], json!([]), "it was closed just now");
        let dry = bd.json(&["archive", "--closed-before", LATER, "--dry-run"]);
        assert_eq!((&dry["archived"], &dry["dry_run"]), (&json!(["bd-1"]), &json!(true)));
        assert_eq!(bd.ids(&["list"]), ["bd-1", "bd-2"]);
        let first = bd.run(&["archive", "--closed-before", LATER, "--json"]);
        assert_eq!(first.value()["archived"], json!(["bd-1"]));
        assert!(first.stderr.contains("now has format 3"), "{first:?}");
        for _ in 0..2 {
            // Before the content is moved, and after.
            assert_eq!(bd.ids(&["list"]), ["bd-2"]);
            assert_eq!(bd.ids(&["ready"]), ["bd-2"], "its blocker counts as closed");
            let listed = bd.json(&["list", "--archive"]);
            assert_eq!(
                (&listed[0]["id"], &listed[0]["title"], &listed[0]["archived"]),
                (&json!("bd-1"), &json!("old work"), &json!(true))
            );
            assert_eq!(bd.ids(&["list", "--archive", "--label", "x"]), Vec::<String>::new());
            let shown = bd.show("bd-1");
            assert_eq!((&shown["closed_reason"], &shown["archived"]), (&json!("done"), &json!(true)));
            bd.error(&["update", "bd-1", "--title", "x"], "archived");
            bd.error(&["delete", "bd-1"], "archived");
            bd.error(&["create", "again", "--id", "bd-1"], "id_taken");
            assert_eq!(bd.json(&["deleted"]), json!([]));
            assert_eq!(bd.json(&["repair-deps"])["orphans_found"], 0);
            assert_eq!(bd.json(&["status"])["summary"]["archived_issues"], 1);
            let exported = bd.text(&["export"]);
            assert!(exported.contains("old work") && !exported.contains("tombstone"), "{exported}");
            bd.json(&["sync"]);
        }
        bd.json(&["restore", "bd-1"]);
        assert_eq!(bd.ids(&["list"]), ["bd-1", "bd-2"]);
        assert_eq!(bd.show("bd-1")["title"], "old work");
        assert_eq!(bd.json(&["list", "--archive"]), json!([]));
        bd.json(&["update", "bd-1", "--title", "changed again"]);
        assert_eq!(bd.json(&["archive", "--closed-before", LATER])["archived"], json!(["bd-1"]));
        bd.json(&["sync"]);
        assert_eq!(bd.show("bd-1")["title"], "changed again");
    });
}
