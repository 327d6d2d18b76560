//! Without a `git` program: the store can be written and read, and the files on the ref match §5.3.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::sandbox::{Sandbox, both};

const FILES: [&str; 4] = ["deps.jsonl", "meta.json", "state.jsonl", "tombstones.jsonl"];

/// Reads a file on the sync ref.
fn file(bd: &Sandbox, name: &str) -> String {
    let repository = bd.repository();
    let tree = repository.find_reference("refs/heads/beads/store").unwrap().peel_to_tree().unwrap();
    let blob = repository.find_blob(tree.get_name(name).unwrap().id()).unwrap();
    String::from_utf8(blob.content().to_vec()).unwrap()
}

/// Asserts that all lines are canonical JSON, sorted by a key, each ended by one line break.
fn check_lines(text: &str, key: impl Fn(&Value) -> Vec<String>) -> Vec<Value> {
    assert!(text.is_empty() || text.ends_with('\n'));
    let lines: Vec<Value> = text
        .lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            // serde_json sorts keys bytewise, writes no spaces and uses only the required escapes, in lower
            // case.
            assert_eq!(value.to_string(), line, "canonical");
            assert!(
                !line.contains(":null") && !line.contains(":\"\"") && !line.contains(":[]"),
                "empties: {line}"
            );
            value
        })
        .collect();
    let keys: Vec<_> = lines.iter().map(key).collect();
    assert!(keys.is_sorted_by(|a, b| a < b), "sorted and unique: {keys:?}");
    lines
}

fn string(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap().to_owned()
}

#[test]
fn a_day_of_work_in_an_empty_repository() {
    both(|bd| {
        assert!(std::fs::read_dir(bd.root().join("bin")).unwrap().next().is_none(), "no program on the path");
        bd.text(&["init"]);
        let first = bd.create(&["first", "-d", "ünï\u{1}code \"quoted\"\n", "-l", "b,a"]);
        let second = bd.create(&["second", "-p", "0"]);
        let third = bd.create(&["third", "-t", "bug"]);
        bd.json(&["dep", "add", &second, &first]);
        bd.json(&["dep", "add", &third, &first, "--type", "related"]);
        bd.json(&["dep", "add", &first, &third, "--type", "related"]);
        bd.json(&["dep", "remove", &first, &third, "--type", "related"]);
        assert_eq!(bd.ids(&["ready"]), [first.clone(), third.clone()]);
        bd.json(&["claim", &first]);
        bd.json(&["close", &first, "--reason", "done"]);
        assert_eq!(bd.ids(&["ready"]), [second.clone(), third.clone()]);
        assert_eq!(bd.show(&first)["status"], "closed");
        assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 3);
        bd.json(&["delete", &third]);
        bd.json(&["restore", &third]);
        bd.json(&["delete", &second, "--reason", "not now"]);
        assert_eq!(bd.run(&["validate"]).exit, Some(0));
        bd.text(&["sync"]);

        let tree = bd.repository();
        let tree = tree.find_reference("refs/heads/beads/store").unwrap().peel_to_tree().unwrap();
        let names: Vec<_> = tree.iter().map(|entry| entry.name().unwrap().to_owned()).collect();
        assert_eq!(names, FILES);
        let id = |value: &Value| vec![string(value, "id")];
        let state = check_lines(&file(bd, "state.jsonl"), id);
        let mut live = vec![first.clone(), third.clone()];
        live.sort_unstable();
        assert_eq!(state.iter().map(|bead| string(bead, "id")).collect::<Vec<_>>(), live);
        for bead in &state {
            crate::schema::check_stamp(&bead["_at"]);
            assert_eq!(bead["_by"], crate::sandbox::ACTOR);
        }
        let tombstones = check_lines(&file(bd, "tombstones.jsonl"), id);
        assert_eq!(tombstones.len(), 1);
        assert_eq!(tombstones[0]["id"], second);
        assert_eq!(tombstones[0]["reason"], "not now");
        let ends = |edge: &Value| vec![string(edge, "from"), string(edge, "to"), string(edge, "kind")];
        let edges = check_lines(&file(bd, "deps.jsonl"), ends);
        assert_eq!(edges.len(), 3, "a removed edge stays, as deleted");
        assert_eq!(edges.iter().filter(|edge| edge.get("deleted_at").is_some()).count(), 1);

        let meta = check_lines(&file(bd, "meta.json"), |_| Vec::new());
        assert_eq!(meta.len(), 1);
        assert_eq!(meta[0]["format_version"], 1);
        for name in ["deps.jsonl", "state.jsonl", "tombstones.jsonl"] {
            let sum: String =
                Sha256::digest(file(bd, name)).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(meta[0]["sha256"][name], sum, "{name}");
        }
    });
}

/// The daemon saves to the ref when it exits, so the repository alone contains the whole store.
#[test]
fn the_ref_alone_is_the_whole_store() {
    both(|bd| {
        let id = bd.create(&["kept", "--notes", "a note"]);
        let gone = bd.create(&["gone"]);
        bd.json(&["delete", &gone]);
        let before = bd.everything();
        bd.text(&["sync"]);
        bd.text(&["daemon", "stop"]);
        std::fs::remove_dir_all(bd.dir().join(".git/beads")).unwrap();
        assert_eq!(bd.everything(), before);
        bd.json(&["note", "add", &id, "and on it goes"]);
    });
}
