use crate::sandbox::{both, ids_of};
use crate::schema::check_bead;

#[test]
fn closing_records_who_when_why_and_where() {
    both(|bd| {
        let id = bd.create(&["x"]);
        bd.json(&["claim", &id]);
        let answer = bd.json_as("bob", &["close", &id, "--reason", "fixed in 1f3a"]);
        let bead = &answer[0];
        check_bead(bead);
        assert_eq!(bead["status"], "closed");
        assert_eq!(bead["closed_by"], "bob");
        assert_eq!(bead["closed_reason"], "fixed in 1f3a");
        assert_eq!(bead["closed_on_branch"], "main");
        assert_eq!(bead["closed_at"], bead["updated_at"]);
        // Once more changes nothing; another reason does.
        let before = bd.everything();
        bd.json(&["close", &id]);
        bd.json(&["close", &id, "--reason", "fixed in 1f3a"]);
        assert_eq!(bd.everything(), before);
        assert_eq!(bd.json(&["close", &id, "-r", "a better one"])[0]["closed_reason"], "a better one");
    });
}

#[test]
fn without_a_reason_it_is_null_and_piped_it_is_silent() {
    both(|bd| {
        let id = bd.create(&["x"]);
        assert_eq!(bd.text(&["close", &id]), "");
        let bead = bd.show(&id);
        check_bead(&bead);
        assert!(bead["closed_reason"].is_null() && bead["close_reason"].is_null());
    });
}

#[test]
fn several_with_some_that_do_not_exist() {
    both(|bd| {
        let (a, b) = (bd.create(&["a"]), bd.create(&["b"]));
        let error = bd.error(&["close", &a, "bd-nope", &b, "--reason", "all done"], "partial_failure");
        assert_eq!(ids_of(&error["details"]["failed"]), ["bd-nope"]);
        assert_eq!(ids_of(&error["details"]["succeeded"]), [a.clone(), b.clone()]);
        assert_eq!(bd.show(&a)["status"], "closed");
        assert_eq!(bd.show(&b)["closed_reason"], "all done");
        let run = bd.run(&["close", &a, "bd-nope"]);
        assert!(run.exit == Some(1) && run.stdout.is_empty() && run.stderr.contains("bd-nope"), "{run:?}");
        run.says_one_error();
    });
}
