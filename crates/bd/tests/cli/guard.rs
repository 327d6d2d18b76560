//! `--if-hash`, on every verb that changes one bead.

use crate::sandbox::both;

#[test]
fn a_bead_that_changed_meanwhile_is_not_modified() {
    both(|bd| {
        let id = bd.create(&["x", "-l", "red"]);
        let stale = bd.show(&id)["content_hash"].as_str().unwrap().to_owned();
        bd.json_as("bob", &["update", &id, "--title", "y"]);
        let before = bd.everything();
        for args in [
            &["update", &id, "-p", "0"][..],
            &["claim", &id],
            &["unclaim", &id],
            &["close", &id],
            &["reopen", &id],
            &["delete", &id],
            &["note", "add", &id, "n"],
            &["note", &id, "n"],
            &["label", "add", &id, "blue"],
            &["label", "remove", &id, "red"],
            &["restore", &id],
        ] {
            let error = bd.error(&[args, &["--if-hash", &stale]].concat(), "conflict");
            assert_eq!(error["details"]["content_hash"], bd.show(&id)["content_hash"], "{args:?}");
            assert_eq!(error["details"]["id"], id, "{args:?}");
            assert_eq!(bd.everything(), before, "{args:?}");
        }
    });
}

#[test]
fn an_unchanged_bead_is_modified() {
    both(|bd| {
        let id = bd.create(&["x", "-l", "red"]);
        let mut hash = bd.show(&id)["content_hash"].as_str().unwrap().to_owned();
        for args in [
            &["update", &id, "-p", "0"][..],
            &["claim", &id],
            &["note", "add", &id, "n"],
            &["note", &id, "m"],
            &["label", "add", &id, "blue"],
            &["label", "remove", &id, "red"],
            &["unclaim", &id],
            &["close", &id],
            &["reopen", &id],
        ] {
            bd.json(&[args, &["--if-hash", &hash]].concat());
            let now = bd.show(&id)["content_hash"].as_str().unwrap().to_owned();
            assert_ne!(now, hash, "{args:?} changed the bead");
            hash = now;
        }
        bd.json(&["delete", &id, "--if-hash", &hash]);
        bd.error(&["restore", &id, "--if-hash", "0000"], "conflict");
        let deleted = bd.json(&["deleted"])[0]["content_hash"].as_str().unwrap().to_owned();
        bd.json(&["restore", &id, "--if-hash", &deleted]);
        assert_eq!(bd.show(&id)["title"], "x");
    });
}
