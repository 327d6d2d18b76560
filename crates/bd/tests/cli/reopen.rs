use crate::sandbox::both;
use crate::schema::check_bead;

#[test]
fn reopening_clears_the_close_and_the_claim_has_ended() {
    both(|bd| {
        let id = bd.create(&["x"]);
        bd.json(&["claim", &id]);
        bd.json(&["close", &id, "--reason", "too soon"]);
        let answer = bd.json(&["reopen", &id, "--reason", "it came back"]);
        let bead = &answer[0];
        check_bead(bead);
        assert_eq!(bead["status"], "open");
        assert!(
            bead["closed_at"].is_null() && bead["closed_by"].is_null() && bead["closed_reason"].is_null()
        );
        assert!(bead["assignee"].is_null());
        assert_eq!(bead["notes"][0]["content"], "it came back");
        let before = bd.everything();
        assert_eq!(bd.json(&["reopen", &id])[0]["unchanged"], true);
        assert_eq!(bd.json(&["unclaim", &id])[0]["unchanged"], true);
        assert_eq!(bd.json(&["restore", &id])[0]["unchanged"], true);
        let unchanged =
            [("reopen", "is open, not closed"), ("unclaim", "is not claimed"), ("restore", "is not deleted")];
        for (verb, why) in unchanged {
            let run = bd.run(&[verb, &id]);
            assert_eq!((run.exit, run.stdout.as_str()), (Some(0), ""), "{run:?}");
            assert_eq!(run.stderr, format!("note: {id} {why}; nothing changed\n"));
        }
        assert_eq!(bd.everything(), before, "reopening an open bead changes nothing");
        assert_eq!(bd.text(&["close", &id]), "");
        assert_eq!(bd.text(&["reopen", &id]), format!("reopened {id}: x\n"));
    });
}

#[test]
fn a_bead_can_be_reopened_in_progress() {
    both(|bd| {
        let id = bd.create(&["x"]);
        bd.json(&["claim", &id]);
        bd.json(&["close", &id]);
        let bead = bd.json(&["reopen", &id, "--status", "in_progress"])[0].clone();
        assert_eq!(bead["status"], "in_progress");
        assert_eq!(bead["assignee"], crate::sandbox::ACTOR);
        bd.json(&["close", &id]);
        bd.error(&["reopen", &id, "--status", "closed"], "invalid_value");
        bd.error(&["reopen", &id, "--status", "gone"], "invalid_value");
    });
}
