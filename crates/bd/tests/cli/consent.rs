//! Nothing is published without consent.

use beads_store::REF;
use serde_json::{Value, json};

use crate::sandbox::{Mode, Sandbox, both, wait_until};
use crate::sync::Remote;

const NOTE: &str = "note: local only; `bd sync` publishes to origin\n";

/// Creates a replica whose daemon saves and syncs at once.
fn replica_that_syncs_at_once(remote: &Remote) -> Sandbox {
    let bd = remote.replica(Mode::Daemon);
    for key in ["sync.quiet", "sync.max_delay"] {
        bd.json(&["config", "set", key, "0s"]);
    }
    bd
}

fn has_saved_and_found_remote(bd: &Sandbox) -> bool {
    let status = bd.json(&["status"]);
    status["unsaved"] == 0 && status["sync"]["remote"] == "origin"
}

#[test]
fn a_new_store_stays_local_until_a_sync_is_requested() {
    let remote = Remote::new();
    let bd = replica_that_syncs_at_once(&remote);
    let first = bd.run(&["create", "One"]);
    assert_eq!((first.exit, first.stderr.as_str()), (Some(0), NOTE), "{first:?}");
    assert_eq!(bd.run(&["create", "Two"]).stderr, "", "said once");
    wait_until("the daemon looked at the remote", || has_saved_and_found_remote(&bd));
    assert_eq!(remote.tip(), None);
    let status = bd.run(&["status"]);
    assert_eq!(status.stderr, NOTE);
    assert!(!status.stdout.contains("last synced"), "{status:?}");
    assert_eq!(bd.json(&["status"])["sync"]["local_only"], "origin");
    assert_eq!(bd.json(&["sync"])["pushed"], true);
    let published = remote.tip();
    assert!(published.is_some());
    assert_eq!(bd.json(&["status"])["sync"]["local_only"], Value::Null);
    bd.create(&["Three"]);
    wait_until("the next change is pushed by itself", || remote.tip() != published);
    assert_eq!(bd.run(&["status"]).stderr, "");
}

#[test]
fn a_failed_publication_is_retried_later() {
    let remote = Remote::new();
    let bd = replica_that_syncs_at_once(&remote);
    let away = remote.path().with_extension("away");
    std::fs::rename(remote.path(), &away).unwrap();
    bd.create(&["One"]);
    assert_ne!(bd.run(&["sync"]).exit, Some(0));
    std::fs::rename(&away, remote.path()).unwrap();
    bd.create(&["Two"]);
    wait_until("the daemon publishes", || remote.tip().is_some());
}

#[test]
fn a_store_on_the_remote_is_joined() {
    let remote = Remote::new();
    let ann = remote.replica(Mode::Embedded);
    ann.create(&["From ann"]);
    ann.json(&["sync"]);
    let published = remote.tip();
    let ben = replica_that_syncs_at_once(&remote);
    assert_eq!(ben.run(&["create", "From ben"]).exit, Some(0));
    wait_until("both beads are on the remote", || remote.tip() != published);
    wait_until("the bead of the remote is here", || ben.json(&["list"]).as_array().unwrap().len() == 2);
}

#[test]
fn the_setting_sync_auto_decides() {
    let remote = Remote::new();
    let bd = replica_that_syncs_at_once(&remote);
    bd.json(&["config", "set", "sync.auto", "true"]);
    assert_eq!(bd.run(&["create", "One"]).stderr, "");
    wait_until("it is published", || remote.tip().is_some());
    wait_until("it is noted", || bd.json(&["status"])["sync"]["unsynced"] == 0);
    bd.json(&["config", "set", "sync.auto", "false"]);
    let published = remote.tip();
    bd.create(&["Two"]);
    wait_until("it is saved", || bd.json(&["status"])["unsaved"] == 0);
    assert_eq!(remote.tip(), published);
    assert_eq!(bd.json(&["sync"])["pushed"], true);
    bd.error(&["config", "set", "sync.auto", "perhaps"], "invalid_value");
}

#[test]
fn init_can_publish_and_a_private_remote_needs_its_own_consent() {
    both(|bd| {
        let remote = Remote::new();
        bd.repository().remote("origin", remote.path().to_str().unwrap()).unwrap();
        bd.json(&["init", "--sync"]);
        assert!(remote.tip().is_some());
        let private = Remote::new();
        bd.repository().remote("mine", private.path().to_str().unwrap()).unwrap();
        bd.json(&["config", "set", "sync.remote", "mine"]);
        bd.create(&["Secret"]);
        bd.run(&["daemon", "stop"]);
        assert_eq!(private.tip(), None);
        bd.json(&["sync"]);
        assert!(private.tip().is_some());
    });
}

#[test]
fn uninstall_removes_the_store_and_keeps_a_backup() {
    both(|bd| {
        let remote = Remote::new();
        bd.repository().remote("origin", remote.path().to_str().unwrap()).unwrap();
        bd.create(&["One"]);
        bd.json(&["sync"]);
        bd.create(&["Two"]);
        let shown = bd.json(&["uninstall", "--dry-run"]);
        assert_eq!((&shown["beads"], &shown["dry_run"]), (&json!(2), &json!(true)));
        assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 2);
        let removed = bd.json(&["uninstall"]);
        let git = bd.repository();
        assert!(git.find_reference(REF).is_err() && !bd.dir().join(".git/beads").exists());
        let backup = git.find_reference(removed["backup"].as_str().unwrap()).unwrap();
        let state = backup.peel_to_tree().unwrap().get_name("state.jsonl").unwrap().id();
        let state = String::from_utf8(git.find_blob(state).unwrap().content().to_vec()).unwrap();
        assert!(state.contains("One") && state.contains("Two"), "the backup contains unsaved changes");
        assert!(remote.tip().is_some(), "the remote is left unchanged");
        // A later command joins the store of the remote.
        bd.json(&["sync"]);
        assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 1);
        let tip = remote.tip();
        let removed = bd.json(&["uninstall", "--remote"]);
        assert_eq!(remote.tip(), None);
        let there = git2::Repository::open(remote.path()).unwrap();
        assert_eq!(there.refname_to_id(removed["remote_backup"].as_str().unwrap()).ok(), tip);
        assert_eq!(bd.json(&["list"]), json!([]));
        bd.run(&["daemon", "stop"]);
    });
    let private = Sandbox::without_repository(Mode::Embedded);
    private.create(&["One"]);
    let removed = private.json(&["uninstall"]);
    assert!(std::path::Path::new(removed["moved"].as_str().unwrap()).join("HEAD").exists());
    private.error(&["uninstall"], "no_store");
}
