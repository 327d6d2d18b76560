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
fn every_field_arrives() {
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
fn ids_of_ones_own_are_taken_once() {
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
        // A number stays used when its bead moves away.
        bd.text(&["update", &format!("{parent}.3"), "--no-parent"]);
        assert_eq!(bd.create(&["four", "--parent", &parent]), format!("{parent}.4"));
        assert_eq!(bd.create(&["grandchild", "--parent", &format!("{parent}.1")]), format!("{parent}.1.1"));
    });
}

#[test]
fn a_dry_run_shows_the_bead_and_makes_nothing() {
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
