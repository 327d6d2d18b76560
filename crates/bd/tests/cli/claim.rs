use serde_json::Value;

use crate::sandbox::{ACTOR, both, wait_until};
use crate::schema::{check_bead, check_stamp};

fn ms(time: &Value) -> i64 {
    time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

#[test]
fn a_claim_is_a_lease_with_a_fence() {
    both(|bd| {
        let id = bd.create(&["x"]);
        let bead = bd.json(&["claim", &id]);
        check_bead(&bead);
        assert_eq!(bead["status"], "in_progress");
        assert_eq!(bead["assignee"], ACTOR);
        assert_eq!(bead["renewed"], false);
        check_stamp(&bead["assignee_at"]);
        let at = bead["assignee_at"].as_array().unwrap();
        assert_eq!(bead["fence"], format!("{}.{}", at[0], at[1]));
        let lease = ms(&bead["assignee_expires"]) - at[0].as_i64().unwrap();
        assert!((7_190_000..=7_210_000).contains(&lease), "two hours unless said otherwise: {lease}");
        let other = bd.create(&["y"]);
        assert!(bd.text(&["claim", &other]).starts_with(&format!("claimed {other}: y (until ")));
    });
}

#[test]
fn the_second_claimant_is_told_who_holds_the_bead() {
    both(|bd| {
        let id = bd.create(&["x"]);
        let held = bd.json(&["claim", &id, "--lease", "4h"]);
        let before = bd.everything();
        let error = bd.error_as("bob", &["claim", &id], "already_claimed");
        assert_eq!(error["details"]["holder"], ACTOR);
        assert_eq!(error["details"]["id"], id);
        assert_eq!(error["details"]["expires"], held["assignee_expires"]);
        assert_eq!(bd.everything(), before);
        bd.json(&["close", &id]);
        bd.error_as("bob", &["claim", &id], "closed");
    });
}

#[test]
fn renewal_keeps_the_fence_and_moves_the_end() {
    both(|bd| {
        let id = bd.create(&["x"]);
        let first = bd.json(&["claim", &id, "--lease", "1h"]);
        let second = bd.json(&["claim", &id, "--lease", "3h"]);
        assert_eq!(second["renewed"], true);
        assert_eq!(second["fence"], first["fence"]);
        assert_eq!(second["assignee_at"], first["assignee_at"]);
        assert!(ms(&second["assignee_expires"]) > ms(&first["assignee_expires"]) + 7_000_000);
        assert!(bd.text(&["claim", &id]).starts_with("renewed "));
        // Working on the bead renews the lease too, and never shortens it.
        let long = bd.json(&["claim", &id, "--lease", "9h"]);
        bd.json(&["note", "add", &id, "still at it"]);
        assert_eq!(bd.show(&id)["assignee_expires"], long["assignee_expires"]);
        bd.json(&["claim", &id, "--lease", "1m"]);
        bd.json(&["note", "add", &id, "still at it"]);
        assert!(ms(&bd.show(&id)["assignee_expires"]) > ms(&first["assignee_expires"]));
        assert_eq!(bd.show(&id)["assignee_at"], first["assignee_at"]);
    });
}

#[test]
fn a_claim_that_was_lost_cannot_be_used() {
    both(|bd| {
        let id = bd.create(&["x"]);
        let mine = bd.json(&["claim", &id, "--lease", "1ms"]);
        let fence = mine["fence"].as_str().unwrap();
        let take = || bd.run(&["--actor", "bob", "claim", &id, "--json"]);
        let theirs = loop {
            let run = take();
            if run.exit == Some(0) {
                break run.value();
            }
            assert_eq!(run.value()["error"]["code"], "already_claimed");
        };
        assert_ne!(theirs["fence"], mine["fence"]);
        let before = bd.everything();
        for args in [
            &["update", &id, "-p", "0"][..],
            &["close", &id],
            &["note", "add", &id, "late"],
            &["unclaim", &id],
            &["claim", &id],
            &["delete", &id],
            &["reopen", &id],
            &["label", "add", &id, "late"],
            &["label", "remove", &id, "late"],
        ] {
            let error = bd.error(&[args, &["--fence", fence]].concat(), "stale_claim");
            assert_eq!(error["details"]["fence"], theirs["fence"], "{args:?}");
        }
        assert_eq!(bd.everything(), before);
        let theirs = theirs["fence"].as_str().unwrap();
        bd.json_as("bob", &["close", &id, "--fence", theirs]);
        bd.error(&["close", &id, "--fence", "nonsense"], "invalid_value");
    });
}

#[test]
fn giving_back() {
    both(|bd| {
        let id = bd.create(&["x"]);
        bd.json(&["claim", &id]);
        let error = bd.error_as("bob", &["unclaim", &id], "not_holder");
        assert_eq!(error["details"]["holder"], ACTOR);
        bd.error_as("bob", &["unclaim", &id, "--force"], "usage");
        let answer = bd.json(&["unclaim", &id, "--reason", "needs a decision"]);
        let bead = &answer[0];
        check_bead(bead);
        assert_eq!(bead["status"], "open");
        assert!(
            bead["assignee"].is_null() && bead["assignee_at"].is_null() && bead["assignee_expires"].is_null()
        );
        assert_eq!(bead["notes"][0]["content"], "needs a decision");
        bd.json_as("bob", &["claim", &id]);
        bd.json(&["unclaim", &id, "--force", "--reason", "bob is away"]);
        assert_eq!(bd.show(&id)["status"], "open");
        // Giving back an unclaimed bead succeeds and changes nothing.
        let before = bd.everything();
        bd.json(&["unclaim", &id]);
        assert_eq!(bd.everything(), before);
    });
}

#[test]
fn anyone_can_give_back_an_expired_claim() {
    both(|bd| {
        let id = bd.create(&["x"]);
        bd.json(&["claim", &id, "--lease", "1ms"]);
        wait_until("the lease runs out", || bd.ids(&["ready"]).len() == 1);
        bd.json_as("bob", &["unclaim", &id]);
        assert!(bd.show(&id)["assignee"].is_null());
    });
}

#[test]
fn leases_that_make_no_sense_are_refused() {
    both(|bd| {
        let id = bd.create(&["x"]);
        let before = bd.everything();
        for lease in ["0", "0s", "soon", "-1h", "", "99999999999999h", "900000d"] {
            let run = bd.run(&["claim", &id, &format!("--lease={lease}"), "--json"]);
            run.failed(lease, "invalid_value");
        }
        assert_eq!(bd.everything(), before);
    });
}
