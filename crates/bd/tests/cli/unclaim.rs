use serde_json::json;

use crate::sandbox::{ACTOR, both};

#[test]
fn all_claims_of_an_actor_are_released() {
    both(|bd| {
        for id in ["bd-1", "bd-2", "bd-3"] {
            bd.create(&["x", "--id", id]);
        }
        bd.json(&["claim", "bd-1"]);
        bd.json_as("bob", &["claim", "bd-2"]);
        bd.json_as("bob", &["claim", "bd-3"]);
        bd.error(&["unclaim"], "usage");
        bd.error(&["unclaim", "--assignee", "bob"], "usage");
        bd.error(&["unclaim", "bd-1", "--all"], "usage");
        bd.error(&["unclaim", "--all", "--assignee", "bob"], "partial_failure");
        assert_eq!(bd.ids(&["unclaim", "--all"]), ["bd-1"], "only mine");
        let released = bd.ids(&["unclaim", "--all", "--assignee", "bob", "--force", "--reason", "it died"]);
        assert_eq!(released, ["bd-2", "bd-3"]);
        let bead = bd.show("bd-2");
        assert_eq!((&bead["status"], &bead["assignee"]), (&json!("open"), &json!(null)));
        assert_eq!(bead["notes"][0]["content"], "it died");
        assert_eq!(bd.json(&["unclaim", "--all"]), json!([]));
    });
}

#[test]
fn expired_claims_of_one_actor_are_reclaimed() {
    both(|bd| {
        for (id, actor) in [("bd-1", ACTOR), ("bd-2", "bob"), ("bd-3", "bob")] {
            bd.create(&["x", "--id", id]);
            bd.json_as(actor, &["claim", id, "--lease", if id == "bd-3" { "1h" } else { "1ms" }]);
        }
        crate::sandbox::wait_until("the leases have expired", || bd.ids(&["ready"]).len() == 2);
        bd.error(&["reclaim"], "usage");
        assert_eq!(bd.ids(&["reclaim", "--assignee", "bob", "--dry-run"]), ["bd-2"]);
        assert_eq!(bd.ids(&["reclaim", "--assignee", "bob"]), ["bd-2"]);
        assert_eq!(bd.ids(&["reclaim", "--expired"]), ["bd-1"]);
    });
}
