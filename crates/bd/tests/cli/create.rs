use serde_json::json;

use crate::sandbox::{ACTOR, both};
use crate::schema::check_bead;

#[test]
fn a_title_is_enough() {
    both(|bd| {
        let bead = bd.json(&["create", "Fix the login loop"]);
        check_bead(&bead);
        assert_eq!(bead["title"], "Fix the login loop");
        assert_eq!(bead["description"], "");
        assert_eq!(bead["status"], "open");
        assert_eq!(bead["priority"], 2);
        assert_eq!(bead["type"], "task");
        assert_eq!(bead["created_by"], ACTOR);
        assert_eq!(bead["created_on_branch"], "main");
        assert!(bead["assignee"].is_null() && bead["design"].is_null() && bead["external_ref"].is_null());
        let id = bead["id"].as_str().unwrap();
        let suffix = id.strip_prefix("bd-").unwrap();
        assert!(suffix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{id}");
        assert_eq!(bd.show(id), bead);
    });
}

#[test]
fn every_field_is_stored() {
    both(|bd| {
        let blocker = bd.create(&["first"]);
        let parent = bd.create(&["epic", "-t", "epic"]);
        let deps = format!("{blocker},discovered-from:{parent}");
        let bead = bd.json(&[
            "create",
            "all of it",
            "-t",
            "bug",
            "-p",
            "0",
            "-d",
            "two\nlines",
            "-a",
            "bob@there",
            "-l",
            "zeta,alpha,zeta",
            "--design",
            "how",
            "--acceptance",
            "when",
            "--notes",
            "a first note",
            "--parent",
            &parent,
            "--deps",
            &deps,
            "--external-ref",
            "gh-12",
        ]);
        check_bead(&bead);
        assert_eq!(bead["id"], format!("{parent}.1"));
        assert_eq!(bead["type"], "bug");
        assert_eq!(bead["priority"], 0);
        assert_eq!(bead["description"], "two\nlines");
        assert_eq!(bead["assignee"], "bob@there");
        assert_eq!(bead["labels"], serde_json::json!(["alpha", "zeta"]));
        assert_eq!(bead["design"], "how");
        assert_eq!(bead["acceptance_criteria"], "when");
        assert_eq!(bead["notes"][0]["content"], "a first note");
        assert_eq!(bead["external_ref"], "gh-12");
        assert_eq!(bead["parent"], parent);
        let mut links: Vec<_> = bead["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .map(|link| (link["dependency_type"].as_str().unwrap(), link["id"].as_str().unwrap()))
            .collect();
        links.sort_unstable();
        let expected =
            [("blocks", blocker.as_str()), ("discovered-from", &parent), ("parent-child", &parent)];
        assert_eq!(links, expected);
    });
}

#[test]
fn text_output_names_the_new_bead() {
    both(|bd| {
        let text = bd.text(&["create", "a thing", "--id", "bd-mine"]);
        assert_eq!(text, "created bd-mine: a thing\n");
        assert_eq!(bd.text(&["-q", "create", "quiet", "--id", "bd-quiet"]), "");
        assert_eq!(bd.text(&["new", "other name", "--id", "bd-new"]), "created bd-new: other name\n");
    });
}

#[test]
fn a_given_id_can_be_used_once() {
    both(|bd| {
        for id in ["ext-1", "A.b_c-9", "offlinebrew-cb64c226.10"] {
            assert_eq!(bd.json(&["create", "x", "--id", id])["id"], id);
            bd.error(&["create", "again", "--id", id], "id_taken");
        }
        bd.text(&["delete", "ext-1"]);
        bd.error(&["create", "again", "--id", "ext-1"], "id_taken");
        let longest = format!("bd-{}", "x".repeat(125));
        assert_eq!(bd.json(&["create", "x", "--id", &longest])["id"], longest);
        bd.error(&["create", "x", "--id", &format!("{longest}x")], "invalid_value");
    });
}

#[test]
fn children_are_numbered_and_a_number_is_never_used_again() {
    both(|bd| {
        let parent = bd.create(&["parent"]);
        assert_eq!(bd.create(&["one", "--parent", &parent]), format!("{parent}.1"));
        assert_eq!(bd.create(&["two", "--parent", &parent]), format!("{parent}.2"));
        bd.text(&["delete", &format!("{parent}.2")]);
        assert_eq!(bd.create(&["three", "--parent", &parent]), format!("{parent}.3"));
        // A number stays used when its bead moves to another parent.
        bd.text(&["update", &format!("{parent}.3"), "--no-parent"]);
        assert_eq!(bd.create(&["four", "--parent", &parent]), format!("{parent}.4"));
        assert_eq!(bd.create(&["grandchild", "--parent", &format!("{parent}.1")]), format!("{parent}.1.1"));
    });
}

#[test]
fn a_dry_run_shows_the_bead_and_creates_nothing() {
    both(|bd| {
        let before = bd.everything();
        let bead = bd.json(&["create", "not yet", "--dry-run"]);
        check_bead(&bead);
        assert_eq!(bead["title"], "not yet");
        assert!(
            bd.text(&["create", "not yet", "--id", "bd-x", "--dry-run"])
                .starts_with("would have created bd-x")
        );
        assert_eq!(bd.everything(), before);
    });
}

#[test]
fn a_request_id_makes_a_repetition_harmless() {
    both(|bd| {
        let first = bd.json(&["--request-id", "r1", "create", "once"]);
        let second = bd.json(&["--request-id", "r1", "create", "once"]);
        assert_eq!(first, second);
        assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 1);
    });
}

#[test]
fn similar_titles_are_reported_but_not_refused() {
    both(|bd| {
        let first = bd.json(&["create", "Fix the login loop", "--id", "bd-1"]);
        assert!(first.get("similar").is_none(), "{first}");
        let second = bd.json(&["create", "fix login loop", "--id", "bd-2"]);
        let known = json!([{"id": "bd-1", "title": "Fix the login loop", "status": "open"}]);
        assert_eq!(second["similar"], known, "{second}");
        assert!(bd.show("bd-2").get("similar").is_none());
        let run = bd.run(&["create", "Fix: the login loop", "--id", "bd-3"]);
        assert_eq!((run.exit, run.stdout.as_str()), (Some(0), "created bd-3: Fix: the login loop\n"));
        let warnings = "warning: bd-1 has nearly the same title: Fix the login loop (open)\nwarning: bd-2 has nearly the same title: fix login loop (open)\n";
        assert_eq!(run.stderr, warnings);
        let compat = bd.run(&["create", "Login loop: fix", "--dry-run", "--json=compat"]).value();
        assert_eq!(compat["similar"].as_array().map(Vec::len), Some(3), "{compat}");
        // With `--silent` or `--quiet` the note about similar beads is not printed.
        bd.run(&["create", "Fix the login loop", "--silent"]).succeeded("silent");
        bd.run(&["create", "Fix the login loop", "--quiet"]).succeeded("quiet");
        bd.json(&["delete", "bd-1", "bd-2", "bd-3"]);
        bd.create(&["Fix the login loop again"]);
        // A batch and the tool report similar beads too.
        let line = json!({"op": "create", "title": "Write step 2"}).to_string();
        bd.run_with_input(&["batch"], line.as_bytes()).succeeded("batch");
        let run = bd.run_with_input(&["batch"], line.as_bytes()).succeeded("batch");
        assert_eq!(run.value()["result"]["similar"][0]["title"], "Write step 2", "{run:?}");
        let run = bd.run_with_input(&["tool", "beads.create", "--apply"], br#"{"title":"write Step 2!"}"#);
        assert_eq!(run.value()["result"]["similar"].as_array().map(Vec::len), Some(2), "{run:?}");
        assert!(bd.json(&["create", "Write step 3"]).get("similar").is_none(), "a number tells them apart");
    });
}

/// `@` and an absolute path read a file. Any other text that begins with `@` is stored as it is.
#[test]
fn a_relative_path_after_an_at_sign_is_text() {
    both(|bd| {
        std::fs::write(bd.dir().join("notes.md"), "content").unwrap();
        let run = bd.run(&["create", "x", "-d", "@notes.md", "--id", "bd-1"]);
        assert_eq!(run.exit, Some(0), "{run:?}");
        let note = "note: @notes.md was stored as text; to store the content of the file, use --body-file notes.md\n";
        assert_eq!(run.stderr, note);
        assert_eq!(bd.show("bd-1")["description"], "@notes.md");
        assert_eq!(bd.run(&["create", "y", "-q", "-d", "@notes.md"]).stderr, "");
        for text in ["@team", "@team, look", "@", "@missing.md"] {
            let id = bd.text(&["create", text, "--silent", "-d", text]);
            assert_eq!(bd.show(id.trim())["description"], text);
        }
        let path = format!("@{}", bd.dir().join("notes.md").display());
        let id = bd.create(&["z", "-d", &path]);
        assert_eq!(bd.show(&id)["description"], "content");
    });
}
