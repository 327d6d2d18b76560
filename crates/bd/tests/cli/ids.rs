//! How beads are named on the command line.

use crate::sandbox::{both, ids_of};

#[test]
fn a_unique_prefix_of_an_id_is_enough() {
    both(|bd| {
        for id in ["bd-abc1", "bd-abd2", "bd-x"] {
            bd.create(&["x", "--id", id]);
        }
        for name in ["bd-abc1", "bd-abc", "abc1", "abc"] {
            assert_eq!(bd.show(name)["id"], "bd-abc1", "{name}");
        }
        let error = bd.error(&["show", "bd-ab"], "ambiguous_id");
        assert_eq!(error["details"]["candidates"], serde_json::json!(["bd-abc1", "bd-abd2"]));
        bd.error(&["close", "ab"], "ambiguous_id");
        bd.error(&["show", "bd-nope"], "not_found");
        bd.error(&["show", ""], "not_found");
        assert_eq!(ids_of(&bd.json(&["close", "abd"])), ["bd-abd2"]);
    });
}

#[test]
fn a_whole_id_wins_over_longer_ones() {
    both(|bd| {
        bd.create(&["x", "--id", "bd-a"]);
        bd.create(&["x", "--id", "bd-a.1"]);
        bd.create(&["x", "--id", "bd-ab"]);
        assert_eq!(bd.show("bd-a")["id"], "bd-a");
        assert_eq!(bd.show("a")["id"], "bd-a");
        assert_eq!(bd.show("a.")["id"], "bd-a.1");
    });
}

#[test]
fn a_deleted_bead_says_so() {
    both(|bd| {
        bd.create(&["x", "--id", "bd-gone"]);
        bd.create(&["x", "--id", "bd-gone2"]);
        bd.text(&["delete", "bd-gone", "--reason", "a duplicate"]);
        let error = bd.error(&["show", "bd-gone"], "deleted");
        assert!(error["message"].as_str().unwrap().contains("a duplicate"));
        for args in [
            &["update", "bd-gone", "-p", "1"][..],
            &["claim", "bd-gone"],
            &["close", "bd-gone"],
            &["reopen", "bd-gone"],
            &["delete", "bd-gone"],
            &["note", "add", "bd-gone", "x"],
            &["label", "add", "bd-gone", "x"],
            &["dep", "add", "bd-gone2", "bd-gone"],
            &["dep", "tree", "bd-gone"],
            &["children", "bd-gone"],
            &["unclaim", "bd-gone"],
        ] {
            bd.error(args, "deleted");
        }
        // An abbreviation means a live bead.
        assert_eq!(bd.show("bd-gon")["id"], "bd-gone2");
    });
}

/// Words such as `null`, which `jq` prints for a missing field, and very short abbreviations are refused by
/// commands that change beads.
#[test]
fn mutations_refuse_placeholder_ids_and_short_abbreviations() {
    both(|bd| {
        for id in ["bd-null1", "bd-undefined2", "bd-none3", "bd-two", "bd-t"] {
            bd.create(&["x", "--id", id]);
        }
        let before = bd.everything();
        for name in ["null", "undefined", "None", "NULL", "", " ", "\t", "t", "tw", "bd-"] {
            for args in [
                &["close", name][..],
                &["update", name, "-p", "0"],
                &["claim", name],
                &["delete", name],
                &["note", "add", name, "x"],
                &["label", "add", name, "x"],
                &["dep", "add", name, "bd-two"],
                &["dep", "add", "bd-two", name],
                &["create", "y", "--parent", name],
                &["restore", name],
            ] {
                let run = bd.run(&[args, &["--json"]].concat());
                assert_ne!(run.exit, Some(0), "{args:?}: {run:?}");
            }
        }
        let error = bd.error(&["close", "null"], "invalid_value");
        assert!(error["message"].as_str().unwrap().contains("Nothing was changed"), "{error}");
        assert_eq!(bd.everything(), before);
        // Queries are lenient.
        assert_eq!(bd.show("null")["id"], "bd-null1");
        // The full id of an abbreviation is printed.
        assert_eq!(bd.json(&["close", "two"])[0]["id"], "bd-two");
        assert_eq!(bd.json(&["close", "bd-nu"])[0]["id"], "bd-null1");
        let run = bd.run(&["close", "undef"]);
        let report = "note: undef is bd-undefined2\nclosed bd-undefined2: x\n";
        assert_eq!((run.exit, run.stderr.as_str()), (Some(0), report), "{run:?}");
    });
}
