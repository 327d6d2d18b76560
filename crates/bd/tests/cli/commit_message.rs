//! The messages of commits on the sync ref.

use crate::sandbox::{Mode, Sandbox, both};
use crate::sync::Remote;

fn last_message(bd: &Sandbox) -> String {
    let repository = bd.repository();
    let tip = repository.find_reference("refs/heads/beads/store").unwrap().peel_to_commit().unwrap();
    tip.message().unwrap().to_owned()
}

#[test]
fn a_commit_says_what_happened() {
    both(|bd| {
        let remote = Remote::new();
        bd.repository().remote("origin", remote.path().to_str().unwrap()).unwrap();
        bd.json(&["config", "set", "sync.quiet", "1h"]);
        bd.json(&["config", "set", "sync.max_delay", "1h"]);
        bd.create(&["one", "--id", "bd-1"]);
        bd.json(&["sync"]);
        assert!(last_message(bd).starts_with("create bd-1 ("), "{}", last_message(bd));
        bd.json(&["close", "bd-1"]);
        bd.create(&["two", "--id", "bd-2"]);
        bd.json(&["sync"]);
        assert_eq!(last_message(bd), "close bd-1, create bd-2 (2 changes by ann@here)");
    });
}

/// The changes are known after a crash, too: they are in the journal.
#[test]
fn changes_of_a_killed_daemon_are_named() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.json(&["config", "set", "sync.quiet", "1h"]);
    bd.json(&["config", "set", "sync.max_delay", "1h"]);
    bd.create(&["one", "--id", "bd-1"]);
    bd.kill_daemon();
    bd.json(&["daemon", "stop"]);
    bd.create(&["two", "--id", "bd-2"]);
    bd.text(&["daemon", "stop"]);
    assert_eq!(last_message(&bd), "create bd-1, create bd-2 (2 changes by ann@here)");
}
