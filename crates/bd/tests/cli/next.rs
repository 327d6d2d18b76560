use crate::sandbox::{ACTOR, both};

#[test]
fn next_claims_the_best_ready_bead() {
    both(|bd| {
        bd.create(&["later", "-p", "3", "-l", "red"]);
        let first = bd.create(&["first", "-p", "0"]);
        let claimed = bd.json(&["next", "--lease", "2h"]);
        assert_eq!((&claimed["id"], &claimed["assignee"]), (&first.as_str().into(), &ACTOR.into()));
        assert!(claimed["fence"].is_string() && claimed["brief"].is_object(), "{claimed}");
        assert_eq!(bd.json(&["next", "--label", "red"])["title"], "later");
        bd.error(&["next"], "nothing_ready");
        bd.error(&["next", "--wait", "1ms"], "nothing_ready");
        bd.error(&["next", "--limit", "2"], "usage");
    });
}
