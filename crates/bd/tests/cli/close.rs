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
        // Closing it again changes nothing; another reason does.
        let before = bd.everything();
        bd.json(&["close", &id]);
        bd.json(&["close", &id, "--reason", "fixed in 1f3a"]);
        assert_eq!(bd.everything(), before);
    });
}

/// Closing again keeps who closed it, when and why, and says so. With `--force` the reason is replaced.
#[test]
fn closing_a_closed_bead_changes_nothing_unless_forced() {
    both(|bd| {
        let id = bd.create(&["x"]);
        assert!(bd.json(&["close", &id, "-r", "first"])[0].get("unchanged").is_none());
        let before = bd.everything();
        let again = bd.json_as("bob", &["close", &id, "-r", "second"]);
        assert_eq!((&again[0]["unchanged"], &again[0]["closed_reason"]), (&true.into(), &"first".into()));
        let run = bd.run(&["close", &id, "-r", "second"]);
        assert_eq!((run.exit, run.stdout.as_str()), (Some(0), ""), "{run:?}");
        assert!(run.stderr.starts_with(&format!("note: {id} was already closed by")), "{run:?}");
        let retried = |()| bd.json(&["close", &id, "-r", "third", "--request-id", "r1"]);
        assert_eq!(retried(()), retried(()), "a repetition gets the first answer");
        assert_eq!(bd.everything(), before);
        let forced = bd.json_as("bob", &["close", &id, "-r", "a better one", "--force"]);
        assert_eq!(
            (&forced[0]["closed_reason"], &forced[0]["closed_by"]),
            (&"a better one".into(), &"bob".into())
        );
        let same = bd.json(&["close", &id, "--force"]);
        assert_eq!(
            (&same[0]["unchanged"], &same[0]["closed_reason"]),
            (&true.into(), &"a better one".into())
        );
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

/// Contract 1 keeps standard output empty, so the report goes to standard error.
#[test]
fn piped_it_reports_what_it_closed_and_unblocked_on_standard_error() {
    both(|bd| {
        let (first, waiting) = (bd.create(&["first"]), bd.create(&["waiting"]));
        bd.json(&["dep", "add", &waiting, &first]);
        let run = bd.run(&["close", &first]);
        let report = format!("closed {first}: first\nunblocked {waiting}: waiting\n");
        assert_eq!((run.stdout.as_str(), run.stderr), ("", report), "{:?}", run.exit);
        let quiet = bd.run(&["close", &waiting, "-q"]);
        assert_eq!((quiet.exit, quiet.stdout.as_str(), quiet.stderr.as_str()), (Some(0), "", ""));
        let third = bd.create(&["third"]);
        assert_eq!(bd.run(&["close", &third, "--json"]).stderr, "", "JSON has the report in the answer");
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
        // As text, what succeeded is reported as usual, before the error.
        let c = bd.create(&["c"]);
        let run = bd.run(&["close", &c, "bd-nope"]);
        assert!(run.exit == Some(1) && run.stdout.is_empty(), "{run:?}");
        let lines: Vec<_> = run.stderr.lines().collect();
        assert!(lines.len() == 2 && lines[0].starts_with(&format!("closed {c}")), "{run:?}");
        assert_eq!(lines[1], "Error: 1 of 2 failed: bd-nope: no bead matches \"bd-nope\"");
        let run = bd.run(&["reopen", "bd-nope", &c]);
        assert!(run.stdout.starts_with(&format!("reopened {c}: c")), "{run:?}");
        run.assert_one_error_line();
        let run = bd.run(&["close", "bd-nope", "bd-neither"]);
        assert_eq!((run.exit, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        run.assert_one_error_line();
    });
}
