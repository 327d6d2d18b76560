//! Bad input for every verb: a typed error, exit code 1 or 2, one line on standard error, and an unchanged
//! store.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::sandbox::{Sandbox, both};

/// Creates three beads, one of them deleted, with a value in every field that bad input could damage.
fn create_beads(bd: &Sandbox) {
    bd.create(&["first", "--id", "bd-1", "-d", "text", "-l", "red"]);
    bd.create(&["second", "--id", "bd-2", "--deps", "bd-1"]);
    bd.create(&["third", "--id", "bd-3"]);
    bd.json(&["delete", "bd-3"]);
}

/// Asserts that a command is refused in the same way with and without `--json`.
fn refused<A: AsRef<OsStr> + std::fmt::Debug>(bd: &Sandbox, args: &[A], code: &str) {
    let args: Vec<OsString> = args.iter().map(|arg| arg.as_ref().to_owned()).collect();
    // `--json` comes first, so that the answer is JSON whatever else is wrong.
    let json = [vec!["--json".into()], args.clone()].concat();
    let error = bd.run(&json);
    error.failed(short(&args), code);
    let text = bd.run(&args);
    assert_eq!(text.exit, error.exit, "{:?}", short(&args));
    assert_eq!(text.stdout, "", "{:?}", short(&args));
    text.assert_one_error_line();
}

/// Returns the arguments for a failure message, with long ones shortened.
fn short(args: &[OsString]) -> Vec<String> {
    args.iter().map(|arg| arg.to_string_lossy().chars().take(40).collect()).collect()
}

fn check(cases: &[(&[&str], &str)]) {
    both(|bd| {
        create_beads(bd);
        let before = bd.everything();
        for (args, code) in cases {
            refused(bd, args, code);
        }
        assert_eq!(bd.everything(), before);
        assert_eq!(bd.run(&["validate"]).exit, Some(0));
    });
}

#[test]
fn unknown_ids() {
    check(&[
        (&["show", "bd-nope"], "not_found"),
        (&["update", "bd-nope", "-p", "1"], "not_found"),
        (&["claim", "bd-nope"], "not_found"),
        (&["unclaim", "bd-nope"], "not_found"),
        (&["close", "bd-nope"], "not_found"),
        (&["reopen", "bd-nope"], "not_found"),
        (&["delete", "bd-nope"], "not_found"),
        (&["restore", "bd-nope"], "not_found"),
        (&["note", "add", "bd-nope", "x"], "not_found"),
        (&["note", "list", "bd-nope"], "not_found"),
        (&["label", "add", "bd-nope", "x"], "not_found"),
        (&["label", "remove", "bd-nope", "x"], "not_found"),
        (&["label", "list", "bd-nope"], "not_found"),
        (&["dep", "add", "bd-1", "bd-nope"], "not_found"),
        (&["dep", "add", "bd-nope", "bd-1"], "not_found"),
        (&["dep", "remove", "bd-1", "bd-nope"], "not_found"),
        (&["dep", "list", "bd-nope"], "not_found"),
        (&["dep", "tree", "bd-nope"], "not_found"),
        (&["children", "bd-nope"], "not_found"),
        (&["list", "--parent", "bd-nope"], "not_found"),
        (&["ready", "--parent", "bd-nope"], "not_found"),
        (&["create", "x", "--parent", "bd-nope"], "not_found"),
        (&["create", "x", "--deps", "bd-nope"], "not_found"),
        (&["create", "x", "--deps", "blocks:bd-3"], "deleted"),
        (&["update", "bd-1", "--parent", "bd-nope"], "not_found"),
    ]);
}

#[test]
fn values_out_of_range() {
    check(&[
        (&["create", "x", "-p", "5"], "invalid_value"),
        (&["create", "x", "-p", "-1"], "invalid_value"),
        (&["create", "x", "-p", "huge"], "invalid_value"),
        (&["create", "x", "-t", "saga"], "invalid_value"),
        (&["create", "x", "--id", "nodash"], "invalid_value"),
        (&["create", "x", "--id", "../bd-1"], "invalid_value"),
        (&["create", "x", "--deps", "hates:bd-1"], "invalid_value"),
        (&["create", "x", "-a", ""], "invalid_value"),
        (&["create", "x", "-l", "a,,b"], "invalid_value"),
        (&["update", "bd-1", "-p", "5"], "invalid_value"),
        (&["update", "bd-1", "-p", "-1"], "invalid_value"),
        (&["update", "bd-1", "-t", "saga"], "invalid_value"),
        (&["update", "bd-1", "--status", "gone"], "invalid_value"),
        (&["update", "bd-1", "--title", ""], "invalid_value"),
        (&["reopen", "bd-1", "--status", "shut"], "invalid_value"),
        (&["list", "--status", "gone"], "invalid_value"),
        (&["list", "--type", "saga"], "invalid_value"),
        (&["list", "-p", "5"], "invalid_value"),
        (&["list", "--priority-min", "-1"], "invalid_value"),
        (&["list", "-p", "-1"], "invalid_value"),
        (&["list", "--limit", "-1"], "invalid_value"),
        (&["list", "--limit", "many"], "invalid_value"),
        (&["list", "--created-after", "yesterday"], "invalid_value"),
        // Regression: numbers were seconds, and a sign was ignored.
        (&["list", "--created-after", "2026"], "invalid_value"),
        (&["archive", "--closed-before", "2026"], "invalid_value"),
        (&["archive", "--closed-before", "+1d"], "invalid_value"),
        (&["recap", "--since", "2026"], "invalid_value"),
        (&["diff", "2026"], "invalid_value"),
        (&["ready", "-p", "5"], "invalid_value"),
        (&["blocked", "-t", "saga"], "invalid_value"),
        (&["count", "-s", "gone"], "invalid_value"),
        (&["search", "x", "-p", "9"], "invalid_value"),
        (&["stale", "--days", "-1"], "invalid_value"),
        (&["dep", "add", "bd-1", "bd-2", "-t", "hates"], "invalid_value"),
        (&["dep", "tree", "bd-1", "--depth", "deep"], "invalid_value"),
        (&["claim", "bd-1", "--lease", "forever"], "invalid_value"),
        (&["init", "--prefix", "UP"], "invalid_value"),
        (&["config", "set", "claim.lease", "soon"], "invalid_value"),
        (&["--actor", "", "create", "x"], "invalid_value"),
        (&["--actor", "a\nb", "create", "x"], "invalid_value"),
        (&["--lock-timeout", "soon", "list"], "invalid_value"),
    ]);
}

#[test]
fn forbidden_edges() {
    check(&[
        (&["dep", "add", "bd-1", "bd-1"], "self_dependency"),
        (&["dep", "add", "bd-1", "bd-2"], "cycle"),
        (&["dep", "add", "bd-1", "bd-3"], "deleted"),
        (&["update", "bd-1", "--parent", "bd-1"], "self_dependency"),
        (&["dep", "remove", "bd-1", "bd-2"], "dependency_not_found"),
    ]);
}

#[test]
fn unknown_flags_and_missing_arguments() {
    check(&[
        (&["frobnicate"], "usage"),
        (&["create"], "usage"),
        (&["create", "x", "--frob"], "usage"),
        (&["update"], "usage"),
        (&["update", "bd-1"], "usage"),
        (&["update", "bd-1", "--frob"], "usage"),
        (&["show"], "usage"),
        (&["show", "bd-1", "--frob"], "usage"),
        (&["list", "--frob"], "usage"),
        (&["list", "stray"], "usage"),
        (&["search"], "usage"),
        (&["ready", "--frob"], "usage"),
        (&["blocked", "--frob"], "usage"),
        (&["claim"], "usage"),
        (&["claim", "bd-1", "bd-2"], "usage"),
        (&["unclaim"], "usage"),
        (&["close"], "usage"),
        (&["reopen"], "usage"),
        (&["delete"], "usage"),
        (&["restore"], "usage"),
        (&["deleted", "stray"], "not_found"),
        (&["note", "add", "bd-1"], "usage"),
        (&["label", "add", "bd-1"], "usage"),
        (&["label", "frob"], "usage"),
        (&["dep", "add", "bd-1"], "usage"),
        (&["dep", "frob"], "usage"),
        (&["children"], "usage"),
        (&["epic", "frob"], "usage"),
        (&["count", "--by-colour"], "usage"),
        (&["stale", "--frob"], "usage"),
        (&["status", "stray"], "usage"),
        (&["where", "stray"], "usage"),
        (&["config", "get"], "usage"),
        (&["config", "set", "nope", "1"], "unknown_key"),
        (&["sync", "--frob"], "usage"),
        (&["validate", "--frob"], "usage"),
        (&["repair"], "usage"),
        (&["daemon", "frob"], "usage"),
        (&["version", "--frob"], "usage"),
        (&["completions"], "usage"),
        (&["init", "--frob"], "usage"),
    ]);
}

#[test]
fn invalid_titles() {
    let huge = "x".repeat(100 * 1024);
    let limit = "x".repeat(4097);
    check(&[
        (&["create", ""], "invalid_value"),
        (&["create", "   "], "invalid_value"),
        (&["create", "two\nlines"], "invalid_value"),
        (&["create", "bell\u{7}"], "invalid_value"),
        (&["create", "\u{1b}[31mred"], "invalid_value"),
        (&["create", "c1 \u{9b}31m"], "invalid_value"),
        (&["create", &limit], "invalid_value"),
        (&["create", &huge], "invalid_value"),
        (&["update", "bd-1", "--title", "two\nlines"], "invalid_value"),
        (&["update", "bd-1", "--title", &huge], "invalid_value"),
        (&["update", "bd-1", "--external-ref", "a\u{1b}b"], "invalid_value"),
        (&["create", "x", "--external-ref", "a\tb"], "invalid_value"),
        (&["create", "x", "-a", "a\u{1b}b"], "invalid_value"),
        (&["label", "add", "bd-1", "\u{1b}"], "invalid_value"),
    ]);
}

#[test]
fn errors_do_not_repeat_long_values() {
    both(|bd| {
        bd.create(&["first", "--id", "bd-1"]);
        let long = "x é\n\n".repeat(5_000);
        for args in [
            &["create", &long][..],
            &["update", "bd-1", "--title", &long],
            &["--actor", &long, "list"],
            &["list", "--sort", &long],
            &[long.as_str()],
        ] {
            let run = bd.run(args);
            assert_eq!(run.exit, Some(2), "{}", run.stderr.len());
            assert!(run.stderr.len() < 1_000, "{} bytes", run.stderr.len());
            assert!(run.stderr.contains("x é x é"), "{run:?}");
            run.assert_one_error_line();
        }
    });
}

#[test]
fn errors_about_numbers_say_what_is_accepted() {
    both(|bd| {
        for args in
            [&["list", "--limit", "-1"][..], &["plan", "--workers", "-1"], &["list", "--limit", "many"]]
        {
            let error = bd.error(args, "invalid_value");
            let message = error["message"].as_str().unwrap();
            assert!(message.ends_with("must be a whole number without a sign"), "{message}");
        }
        let error = bd.error(&["list", "--limit", "99999999999999999999999"], "invalid_value");
        assert!(error["message"].as_str().unwrap().ends_with("the number is too large"), "{error}");
    });
}

/// The kernel does not pass arguments this long (128 KiB each), so the title of one mebibyte goes over the
/// socket.
#[test]
fn a_title_of_a_mebibyte_over_the_socket() {
    let bd = Sandbox::new(crate::sandbox::Mode::Daemon);
    create_beads(&bd);
    let before = bd.everything();
    let mut client = crate::socket::Client::connect(&bd.socket()).unwrap();
    let title = "x".repeat(1024 * 1024);
    let reply = client.mutate(&serde_json::json!({"op": "create", "title": title})).unwrap();
    assert_eq!(reply["error"]["code"], "invalid_request", "{}", reply["error"]["code"]);
    assert_ne!(reply["exit"], 0);
    assert_eq!(bd.everything(), before);
}

#[test]
fn arguments_that_are_not_utf8() {
    both(|bd| {
        create_beads(bd);
        let before = bd.everything();
        let bad = OsStr::from_bytes(b"caf\xe9");
        let word = OsStr::new;
        let cases: &[(&[&OsStr], &str)] = &[
            (&[word("create"), bad], "usage"),
            (&[word("create"), word("x"), word("-d"), bad], "usage"),
            (&[word("create"), word("x"), word("--id"), bad], "usage"),
            (&[word("update"), word("bd-1"), word("--title"), bad], "usage"),
            (&[word("note"), word("add"), word("bd-1"), bad], "usage"),
            (&[word("show"), bad], "usage"),
            (&[word("close"), word("bd-1"), word("--reason"), bad], "usage"),
            (&[word("search"), bad], "usage"),
            (&[word("label"), word("add"), word("bd-1"), bad], "usage"),
            (&[word("config"), word("set"), word("issue_prefix"), bad], "usage"),
            (&[word("--actor"), bad, word("create"), word("x")], "usage"),
            (&[bad], "usage"),
        ];
        for (args, code) in cases {
            refused(bd, args, code);
        }
        // A file may have any name; this one does not exist.
        refused(bd, &[word("create"), word("x"), word("--body-file"), bad], "io_error");
        assert_eq!(bd.everything(), before);
    });
}

#[test]
fn an_actor_from_the_environment_is_checked_and_an_empty_one_ignored() {
    both(|bd| {
        let run = |actor: &[u8]| {
            let mut command = bd.command(&["create", "x", "--json"]);
            crate::sandbox::Run::of(command.env("BD_ACTOR", OsStr::from_bytes(actor)).env("USER", "carol"))
        };
        run(b"two\nlines").failed("BD_ACTOR", "invalid_value");
        run(b"caf\xe9").failed("BD_ACTOR", "invalid_value");
        assert_eq!(bd.json(&["list"]), serde_json::json!([]));
        let by = run(b"").succeeded("BD_ACTOR=").value()["created_by"].clone();
        assert!(by.as_str().unwrap().starts_with("carol@"), "{by}");
        assert_eq!(bd.json_as("dave", &["create", "y"])["created_by"], "dave");
    });
}
