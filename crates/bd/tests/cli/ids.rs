//! How beads are named on the command line.

use crate::sandbox::{both, ids_of};

#[test]
fn the_beginning_of_an_id_is_enough_when_it_fits_only_one() {
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
