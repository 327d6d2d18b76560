//! A legacy store on the branch `beads/store` is recognized and migrated, and is not mistaken for damage.

use beads_store::REF;
use serde_json::json;

use crate::sandbox::{Mode, Sandbox, both};
use crate::sync::Remote;

const STATE: &str = r#"{"id":"bd-a1","created_at":[1765400000000,0],"created_by":"ann","title":"A","description":"","priority":1,"type":"task","labels":[],"status":"open","_at":[1765400000000,0],"_by":"ann"}
{"id":"bd-b2","created_at":[1765400000000,0],"created_by":"ann","title":"B","description":"","priority":0,"type":"bug","labels":["x"],"status":"in_progress","assignee":"bob","_at":[1765400000000,0],"_by":"ann"}
"#;

/// Commits a legacy store to the sync ref.
fn plant(repository: &git2::Repository, meta: &str, with_notes: bool) -> git2::Oid {
    let mut tree = repository.treebuilder(None).unwrap();
    let note =
        r#"{"bead_id":"bd-a1","note":{"id":"n1","content":"hello","author":"ann","at":[1765400000200,0]}}"#;
    let deps = "{\"cc\":{\"max\":{}},\"entries\":[]}\n";
    let mut files =
        vec![("state.jsonl", STATE), ("tombstones.jsonl", ""), ("deps.jsonl", deps), ("meta.json", meta)];
    if with_notes {
        files.push(("notes.jsonl", note));
    }
    for (name, content) in files {
        tree.insert(name, repository.blob(content.as_bytes()).unwrap(), 0o100_644).unwrap();
    }
    let tree = repository.find_tree(tree.write().unwrap()).unwrap();
    let author = git2::Signature::new("ann", "ann@here", &git2::Time::new(1_700_000_000, 0)).unwrap();
    repository.commit(Some(REF), &author, &author, "beads sync", &tree, &[]).unwrap()
}

const LATER_META: &str = "{\n  \"format_version\": 1,\n  \"root_slug\": \"bd\",\n  \"last_write_stamp\": [1765400000000,0],\n  \"state_sha256\": \"00\"\n}";

#[test]
fn a_legacy_store_is_recognized_and_migrated_with_a_backup() {
    both(|bd| {
        for (meta, notes) in [("{\"format_version\":1}", false), (LATER_META, true)] {
            let repository = bd.repository();
            if let Ok(mut reference) = repository.find_reference(REF) {
                reference.delete().unwrap();
            }
            let old = plant(&repository, meta, notes);
            let error = bd.error(&["list"], "earlier_format");
            assert!(error["message"].as_str().unwrap().contains("earlier Rust bd"), "{error}");
            assert!(error["hint"].as_str().unwrap().contains("bd migrate"), "{error}");
            bd.error(&["create", "x"], "earlier_format");
            bd.error(&["repair", "--apply"], "earlier_format");
            assert_eq!(repository.refname_to_id(REF).unwrap(), old, "nothing was changed");
            let inspected = bd.json(&["migrate", "--inspect"]);
            assert_eq!(inspected["needs_migration"], true, "{inspected}");
            let answer = bd.json(&["migrate"]);
            let taken = &answer["taken_over"];
            assert_eq!(
                (&taken["import"]["created"], &taken["pushed"]),
                (&json!(2), &json!(false)),
                "{answer}"
            );
            let backup = taken["backups"][0].as_str().unwrap();
            assert_eq!(repository.refname_to_id(backup).unwrap(), old);
            assert_eq!(bd.ids(&["list"]).len(), 2);
            assert!(!bd.show("bd-b2")["assignee_expires"].is_null(), "its claim has a lease now");
            assert_eq!(bd.show("bd-a1")["notes"].as_array().unwrap().len(), usize::from(notes));
            bd.create(&["a new one"]);
            assert!(bd.text(&["migrate"]).contains("nothing to migrate"));
            bd.run(&["daemon", "stop"]);
            std::fs::remove_dir_all(repository.path().join("beads")).unwrap();
            // The end of the journal is recorded outside the repository; without this its loss would be
            // reported.
            let _ = std::fs::remove_dir_all(bd.root().join("home/.local/state/beads/journals"));
            // Otherwise the saved beads would be restored from these refs, even without the branch.
            for reference in repository.references_glob("refs/beads/*").unwrap() {
                reference.unwrap().delete().unwrap();
            }
        }
    });
}

#[test]
fn the_remote_is_replaced_only_on_request() {
    let remote = Remote::new();
    let git = git2::Repository::open(remote.path()).unwrap();
    let old = plant(&git, LATER_META, true);
    let bd: Sandbox = remote.replica(Mode::Embedded);
    bd.create(&["mine"]);
    let error = bd.error(&["sync"], "earlier_format");
    assert!(error["message"].as_str().unwrap().contains("the remote's"), "{error}");
    assert_eq!(git.refname_to_id(REF).unwrap(), old);
    let answer = bd.json(&["migrate"]);
    assert_eq!(answer["taken_over"], serde_json::Value::Null, "the local store is not a legacy store");
    let answer = bd.json(&["migrate", "--remote"]);
    assert_eq!(answer["taken_over"]["pushed"], true, "{answer}");
    assert_eq!(bd.ids(&["list"]).len(), 3);
    bd.json(&["sync"]);
    let other = remote.replica(Mode::Embedded);
    let synced = other.run(&["sync", "--json"]);
    assert!(synced.stderr.contains("now has format 3"), "migrate raised it: {synced:?}");
    assert_eq!(other.ids(&["list"]).len(), 3);
}

#[test]
fn a_local_migration_leaves_the_remote_unchanged() {
    let remote = Remote::new();
    let git = git2::Repository::open(remote.path()).unwrap();
    let old = plant(&git, LATER_META, false);
    let bd = remote.replica(Mode::Embedded);
    bd.repository()
        .find_remote("origin")
        .unwrap()
        .fetch(&["refs/heads/beads/store:refs/remotes/origin/beads/store"], None, None)
        .unwrap();
    bd.error(&["list"], "earlier_format");
    bd.json(&["migrate"]);
    assert_eq!(bd.ids(&["list"]).len(), 2);
    bd.create(&["mine"]);
    bd.error(&["sync"], "earlier_format");
    assert_eq!(git.refname_to_id(REF).unwrap(), old, "nothing was pushed");
    bd.json(&["migrate", "--remote"]);
    assert_ne!(git.refname_to_id(REF).unwrap(), old);
    bd.json(&["sync"]);
    let other = remote.replica(Mode::Embedded);
    other.json(&["sync"]);
    assert_eq!(other.ids(&["list"]).len(), 3);
}
