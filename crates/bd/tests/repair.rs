//! Black-box tests of `bd repair`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const REF: &str = "refs/heads/beads/store";

struct Scratch {
    root: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        git2::Repository::init(root.path()).unwrap();
        Self { root }
    }

    fn bd(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_bd"))
            .args(arguments)
            .current_dir(self.root.path())
            .env("BD_ACTOR", "ann")
            .env("BD_RUNTIME_DIR", self.root.path().join("run"))
            .env_remove("BEADS_DB")
            .env_remove("BEADS_DIR")
            .env_remove("BD_NO_DAEMON")
            .env_remove("BEADS_NO_DAEMON")
            .output()
            .unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.bd(&[arguments, &["--json"]].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Saves, stops the daemon, and cuts off the last line of `state.jsonl` on the ref.
    fn damage(&self) {
        assert!(self.bd(&["sync"]).status.success());
        assert!(self.bd(&["daemon", "stop"]).status.success());
        let git = git2::Repository::open(self.root.path()).unwrap();
        let tip = git.find_reference(REF).unwrap().peel_to_commit().unwrap();
        let tree = tip.tree().unwrap();
        let blob = git.find_blob(tree.get_name("state.jsonl").unwrap().id()).unwrap();
        let cut = git.blob(&blob.content()[..blob.content().len() - 20]).unwrap();
        let mut builder = git.treebuilder(Some(&tree)).unwrap();
        builder.insert("state.jsonl", cut, 0o100_644).unwrap();
        let tree = git.find_tree(builder.write().unwrap()).unwrap();
        let who = git2::Signature::now("test", "test@localhost").unwrap();
        let commit = git.commit(None, &who, &who, "damage", &tree, &[&tip]).unwrap();
        git.reference(REF, commit, true, "damage").unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.bd(&["daemon", "stop"]);
    }
}

fn backup_refs(root: &Path) -> usize {
    git2::Repository::open(root).unwrap().references_glob("refs/beads/backup/*").unwrap().count()
}

#[test]
fn a_healthy_store_says_so() {
    let scratch = Scratch::new();
    scratch.json(&["create", "One"]);
    for flag in ["--dry-run", "--apply"] {
        let output = scratch.bd(&["repair", flag]);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "Nothing to repair\n");
    }
    assert_eq!(scratch.bd(&["repair"]).status.code(), Some(2), "one of the two must be chosen");
}

#[test]
fn a_damaged_store_is_shown_first_and_then_repaired() {
    let scratch = Scratch::new();
    for title in ["One", "Two"] {
        scratch.json(&["create", title]);
    }
    scratch.damage();
    assert_eq!(scratch.bd(&["list"]).status.code(), Some(1));

    let shown = scratch.json(&["repair", "--dry-run"]);
    assert_eq!(shown["applied"], false);
    assert_eq!(shown["unreadable"][0]["file"], "state.jsonl");
    assert_eq!(shown["unreadable"][0]["line"], 2);
    assert_eq!(backup_refs(scratch.root.path()), 0, "a dry run writes nothing");
    assert_eq!(scratch.bd(&["list"]).status.code(), Some(1));

    assert_eq!(scratch.json(&["repair", "--apply"])["applied"], true);
    assert_eq!(backup_refs(scratch.root.path()), 1);
    assert_eq!(scratch.json(&["list"]).as_array().unwrap().len(), 2, "the commit before has both beads");
    assert_eq!(scratch.bd(&["validate"]).status.code(), Some(0));
    assert_eq!(scratch.json(&["repair", "--dry-run"])["damage"].as_array().unwrap().len(), 0);
}

#[test]
fn a_daemon_that_has_the_store_open_sees_the_damage_and_exits() {
    let scratch = Scratch::new();
    scratch.json(&["create", "One"]);
    assert!(scratch.bd(&["sync"]).status.success());
    fs::write(scratch.root.path().join(".git").join(REF), "nonsense\n").unwrap();
    assert!(!scratch.json(&["repair", "--dry-run"])["damage"].as_array().unwrap().is_empty());
    assert_eq!(scratch.json(&["repair", "--apply"])["applied"], true);
    assert_eq!(scratch.json(&["list"]).as_array().unwrap().len(), 1);
}
