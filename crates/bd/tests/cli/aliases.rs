//! Words that people type: aliases, verbs without a subcommand, and suggestions for typing errors.

use crate::sandbox::both;

#[test]
fn aliases_do_the_same_as_their_verbs() {
    both(|bd| {
        let made = bd.json(&["add", "a bead"]);
        let id = made["id"].as_str().unwrap();
        assert_eq!(bd.json(&["ls"]), bd.json(&["list"]));
        assert_eq!(bd.json(&["history", id]), bd.json(&["log", id]));
        assert_eq!(bd.json(&["done", id, "--reason", "R"])[0]["status"], "closed");
        bd.json(&["rm", id]);
        bd.error(&["show", id], "deleted");
    });
}

#[test]
fn a_verb_without_a_subcommand_lists() {
    both(|bd| {
        bd.create(&["an epic", "-t", "epic", "-l", "red"]);
        for (bare, whole) in [
            (&["config"][..], &["config", "list"][..]),
            (&["conflicts"], &["conflicts", "list"]),
            (&["epic"], &["epic", "status"]),
            (&["label"], &["label", "list-all"]),
            (&["label", "list"], &["label", "list-all"]),
        ] {
            assert_eq!(bd.json(bare), bd.json(whole), "{bare:?}");
            assert_eq!(bd.text(bare), bd.text(whole), "{bare:?}");
        }
        assert_eq!(bd.json(&["daemon"])["pid"], bd.json(&["daemon", "status"])["pid"]);
    });
}

#[test]
fn a_mistyped_verb_or_option_gets_a_suggestion() {
    both(|bd| {
        for (typed, meant) in [
            (&["lst"][..], "did you mean list"),
            (&["craete", "x"], "did you mean create"),
            (&["finish", "bd-1"], "did you mean bd close?"),
            (&["label", "ad", "bd-1", "x"], "did you mean add"),
            (&["list", "--lable", "x"], "did you mean --label"),
            (&["create", "x", "--prioritty", "1"], "did you mean --priority?"),
        ] {
            let error = bd.error(typed, "usage");
            assert!(error["message"].as_str().unwrap().contains(meant), "{typed:?}: {error}");
        }
        let error = bd.error(&["xyzzy"], "usage");
        assert!(!error["message"].as_str().unwrap().contains("did you mean"), "{error}");
    });
}
