//! Replicas with one daemon each, changing the same beads at the same time.

use beads_sim::Dice;
use serde_json::{Value, json};

use super::{Remote, sync_until_equal, titles};
use crate::sandbox::{Mode, Sandbox};

/// Creates replicas with one daemon each that all have the same beads.
fn replicas_of(remote: &Remote, count: usize) -> Vec<Sandbox> {
    let replicas: Vec<Sandbox> = (0..count).map(|_| remote.replica(Mode::Daemon)).collect();
    for (id, title) in [("bd-1", "shared"), ("bd-2", "doomed"), ("bd-3", "parent"), ("bd-4", "far")] {
        replicas[0].create(&[title, "--id", id]);
    }
    sync_until_equal(&replicas.iter().collect::<Vec<_>>());
    replicas
}

/// Makes every kind of conflicting change while the daemons push at any time.
fn make_conflicting_changes(count: usize) {
    let remote = Remote::new();
    let replicas = replicas_of(&remote, count);
    let all: Vec<&Sandbox> = replicas.iter().collect();
    for bd in &replicas {
        bd.json(&["config", "set", "sync.quiet", "5ms"]);
    }
    std::thread::scope(|scope| {
        for (who, bd) in replicas.iter().enumerate() {
            scope.spawn(move || {
                // The same field, different fields, labels, notes.
                bd.json(&["update", "bd-1", "--title", &format!("title of {who}")]);
                bd.json(&["update", "bd-1", "--priority", &(who % 5).to_string()]);
                bd.json(&["label", "add", "bd-1", &format!("l{who}")]);
                bd.json(&["note", "add", "bd-1", &format!("note of {who}")]);
                // A deletion and concurrent edits, edges added and removed.
                if who == 0 {
                    bd.json(&["delete", "bd-2"]);
                } else {
                    bd.run(&["update", "bd-2", "--description", &format!("edit of {who}")]);
                }
                bd.run(&["dep", "add", "bd-1", "bd-4", "--type", "related"]);
                if who == 1 {
                    bd.run(&["dep", "remove", "bd-1", "bd-4", "--type", "related"]);
                }
                // Children of one parent, and one id that every replica uses.
                bd.create(&[&format!("child of {who}"), "--parent", "bd-3"]);
                bd.run(&["create", &format!("rival of {who}"), "--id", "bd-rival"]);
            });
        }
    });
    sync_until_equal(&all);
    let bd = &replicas[0];
    let shared = bd.show("bd-1");
    let conflicts = bd.json(&["conflicts", "list", "--all"]);
    let conflicts = conflicts.as_array().unwrap();
    let titles = titles(bd);
    for who in 0..count {
        assert!(titles.contains(&format!("child of {who}")), "{titles:?}");
        let note = format!("note of {who}");
        assert!(shared["notes"].as_array().unwrap().iter().any(|kept| kept["content"] == note), "{shared}");
    }
    // One title wins. Every value in the conflict list was written by some replica and did not win.
    let written: Vec<String> = (0..count).map(|who| format!("title of {who}")).collect();
    let is_written = |value: &Value| written.iter().any(|title| value == title);
    assert!(is_written(&shared["title"]), "{shared}");
    for conflict in conflicts.iter().filter(|conflict| conflict["field"] == "title") {
        assert!(is_written(&conflict["value"]) && conflict["value"] != shared["title"], "{conflict}");
    }
    // Every bead that lost its id is reported, and all replicas report the same.
    let rivals = titles.iter().filter(|title| title.starts_with("rival of")).count();
    let remapped = conflicts.iter().filter(|conflict| conflict["kind"] == "remapped");
    assert_eq!(remapped.filter(|conflict| conflict["born"] == "bd-rival").count(), rivals - 1);
    for other in &replicas {
        assert_eq!(other.json(&["conflicts", "list", "--all"]), serde_json::json!(conflicts));
    }
}

#[test]
fn two_and_five_daemons_converge() {
    make_conflicting_changes(2);
    make_conflicting_changes(5);
}

/// All replicas write before any of them syncs, so every write is concurrent with the writes of the others:
/// one value of each field wins, and all others must be among the conflicts. The seed decides the order of
/// writes in each replica.
fn nothing_is_overwritten_silently(count: usize, seed: u64) {
    let remote = Remote::new();
    let replicas = replicas_of(&remote, count);
    let all: Vec<&Sandbox> = replicas.iter().collect();
    for bd in &replicas {
        for (key, value) in [("sync.interval", "0"), ("sync.max_delay", "1h"), ("sync.quiet", "1h")] {
            bd.json(&["config", "set", key, value]);
        }
    }
    std::thread::scope(|scope| {
        for (who, bd) in replicas.iter().enumerate() {
            scope.spawn(move || {
                let mut writes = writes_of(who);
                let mut dice = Dice::new(seed * 31 + who as u64);
                while !writes.is_empty() {
                    let write = writes.swap_remove(dice.index(writes.len()));
                    bd.json(&write.iter().map(String::as_str).collect::<Vec<_>>());
                }
            });
        }
    });
    sync_until_equal(&all);
    let bd = &replicas[0];
    let conflicts = bd.json(&["conflicts", "list", "--all"]);
    let kept = |bead: &str, field: &str, value: &Value| {
        let conflicts = conflicts.as_array().unwrap();
        conflicts.iter().any(|one| one["bead"] == bead && one["field"] == field && one["value"] == *value)
    };
    let (shared, titles) = (bd.show("bd-1"), titles(bd));
    // The later of deletion and edits wins. A deleted bead keeps its fields.
    if bd.run(&["show", "bd-2"]).exit != Some(0) {
        bd.json(&["restore", "bd-2"]);
    }
    let doomed = bd.show("bd-2");
    for who in 0..count {
        let context = format!("seed {seed}, {count} replicas, of {who}: {conflicts}");
        let title = json!(format!("title of {who}"));
        assert!(shared["title"] == title || kept("bd-1", "title", &title), "{context}");
        let design = json!(format!("design of {who}"));
        assert!(shared["design"] == design || kept("bd-1", "design", &design), "{context}");
        let labels = json!([format!("l{who}")]);
        assert!(shared["labels"] == labels || kept("bd-1", "labels", &labels), "{context}");
        let edit = json!(format!("edit of {who}"));
        assert!(who == 0 || doomed["description"] == edit || kept("bd-2", "description", &edit), "{context}");
        let note = json!(format!("note of {who}"));
        assert!(shared["notes"].as_array().unwrap().iter().any(|kept| kept["content"] == note), "{context}");
        assert!(titles.contains(&format!("child of {who}")), "{context}: {titles:?}");
        assert!(titles.contains(&format!("rival of {who}")), "{context}: {titles:?}");
    }
}

/// Returns one write for every kind of conflict.
fn writes_of(who: usize) -> Vec<Vec<String>> {
    let write = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let doomed = match who {
        0 => write(&["delete", "bd-2"]),
        _ => write(&["update", "bd-2", "--description", &format!("edit of {who}")]),
    };
    vec![
        write(&["update", "bd-1", "--title", &format!("title of {who}")]),
        write(&["update", "bd-1", "--design", &format!("design of {who}")]),
        write(&["label", "add", "bd-1", &format!("l{who}")]),
        write(&["note", "add", "bd-1", &format!("note of {who}")]),
        write(&["dep", "add", "bd-1", "bd-4", "--type", "related"]),
        write(&["create", &format!("child of {who}"), "--parent", "bd-3"]),
        write(&["create", &format!("rival of {who}"), "--id", "bd-rival"]),
        doomed,
    ]
}

#[test]
fn two_and_five_daemons_overwrite_nothing_silently() {
    for seed in 0..3 {
        nothing_is_overwritten_silently(2, seed);
    }
    nothing_is_overwritten_silently(5, 0);
}

#[test]
#[ignore = "takes minutes"]
fn two_and_five_daemons_overwrite_nothing_silently_at_length() {
    for seed in 0..30 {
        nothing_is_overwritten_silently(2, seed);
        nothing_is_overwritten_silently(5, seed);
    }
}

#[test]
fn a_bead_that_lost_its_id_can_be_found_by_it() {
    let remote = Remote::new();
    let [ann, ben] = [Mode::Daemon, Mode::Embedded].map(|mode| remote.replica(mode));
    ann.create(&["older", "--id", "bd-x"]);
    ben.create(&["younger", "--id", "bd-x"]);
    sync_until_equal(&[&ann, &ben]);
    for bd in [&ann, &ben] {
        let shown = bd.show("bd-x");
        assert_eq!(shown["title"], "older");
        let new = shown["remapped"][0].as_str().unwrap().to_owned();
        assert_eq!(bd.show(&new)["title"], "younger");
        assert!(bd.show(&new).get("remapped").is_none());
        let text = bd.text(&["show", "bd-x"]);
        assert!(text.contains(&format!("Other beads created as bd-x: {new}")), "{text}");
        let conflicts = bd.json(&["conflicts", "list"]);
        assert!(
            conflicts[0]["kind"] == "remapped"
                && conflicts[0]["born"] == "bd-x"
                && conflicts[0]["bead"] == new,
            "{conflicts}"
        );
    }
    // Even when the bead that won the id was deleted, the error names the new id.
    let new = ann.show("bd-x")["remapped"][0].clone();
    ann.json(&["delete", "bd-x"]);
    let error = ann.error(&["show", "bd-x"], "deleted");
    assert!(error["message"].as_str().unwrap().contains(new.as_str().unwrap()), "{error}");
}
