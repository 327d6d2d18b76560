//! Replicas with a daemon each, mutating at the same time.

use beads_sim::Dice;
use serde_json::{Value, json};

use super::{Remote, settle, titles};
use crate::sandbox::{Mode, Sandbox};

/// Replicas with a daemon each that all have the same beads to quarrel about.
fn replicas_of(remote: &Remote, count: usize) -> Vec<Sandbox> {
    let replicas: Vec<Sandbox> = (0..count).map(|_| remote.replica(Mode::Daemon)).collect();
    for (id, title) in [("bd-1", "shared"), ("bd-2", "doomed"), ("bd-3", "parent"), ("bd-4", "far")] {
        replicas[0].create(&[title, "--id", id]);
    }
    settle(&replicas.iter().collect::<Vec<_>>());
    replicas
}

/// Everything two replicas can do to each other, while their daemons push whenever they like.
fn quarrel(count: usize) {
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
                // A deletion against edits, edges added and removed.
                if who == 0 {
                    bd.json(&["delete", "bd-2"]);
                } else {
                    bd.run(&["update", "bd-2", "--description", &format!("edit of {who}")]);
                }
                bd.run(&["dep", "add", "bd-1", "bd-4", "--type", "related"]);
                if who == 1 {
                    bd.run(&["dep", "remove", "bd-1", "bd-4", "--type", "related"]);
                }
                // Children of one parent, and one id that everybody takes.
                bd.create(&[&format!("child of {who}"), "--parent", "bd-3"]);
                bd.run(&["create", &format!("rival of {who}"), "--id", "bd-rival"]);
            });
        }
    });
    settle(&all);
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
    // One title stands; a value in the conflict list is one that somebody wrote and that does not stand.
    let written: Vec<String> = (0..count).map(|who| format!("title of {who}")).collect();
    let is_written = |value: &Value| written.iter().any(|title| value == title);
    assert!(is_written(&shared["title"]), "{shared}");
    for conflict in conflicts.iter().filter(|conflict| conflict["field"] == "title") {
        assert!(is_written(&conflict["value"]) && conflict["value"] != shared["title"], "{conflict}");
    }
    // Every bead that lost its id is told, and everybody is told the same.
    let rivals = titles.iter().filter(|title| title.starts_with("rival of")).count();
    let remapped = conflicts.iter().filter(|conflict| conflict["kind"] == "remapped");
    assert_eq!(remapped.filter(|conflict| conflict["born"] == "bd-rival").count(), rivals - 1);
    for other in &replicas {
        assert_eq!(other.json(&["conflicts", "list", "--all"]), serde_json::json!(conflicts));
    }
}

#[test]
fn two_and_five_daemons_converge() {
    quarrel(2);
    quarrel(5);
}

/// Nobody hears of anybody before all have written, so every write is concurrent with those of the others: of each field one
/// value stands, and all others must be among the conflicts. The seed decides in which order each replica writes.
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
    settle(&all);
    let bd = &replicas[0];
    let conflicts = bd.json(&["conflicts", "list", "--all"]);
    let kept = |bead: &str, field: &str, value: &Value| {
        let conflicts = conflicts.as_array().unwrap();
        conflicts.iter().any(|one| one["bead"] == bead && one["field"] == field && one["value"] == *value)
    };
    let (shared, titles) = (bd.show("bd-1"), titles(bd));
    // The later of deletion and edits decides; a deleted bead keeps what it had.
    if bd.run(&["show", "bd-2"]).exit != Some(0) {
        bd.json(&["restore", "bd-2"]);
    }
    let doomed = bd.show("bd-2");
    for who in 0..count {
        let told = format!("seed {seed}, {count} replicas, of {who}: {conflicts}");
        let title = json!(format!("title of {who}"));
        assert!(shared["title"] == title || kept("bd-1", "title", &title), "{told}");
        let design = json!(format!("design of {who}"));
        assert!(shared["design"] == design || kept("bd-1", "design", &design), "{told}");
        let labels = json!([format!("l{who}")]);
        assert!(shared["labels"] == labels || kept("bd-1", "labels", &labels), "{told}");
        let edit = json!(format!("edit of {who}"));
        assert!(who == 0 || doomed["description"] == edit || kept("bd-2", "description", &edit), "{told}");
        let note = json!(format!("note of {who}"));
        assert!(shared["notes"].as_array().unwrap().iter().any(|kept| kept["content"] == note), "{told}");
        assert!(titles.contains(&format!("child of {who}")), "{told}: {titles:?}");
        assert!(titles.contains(&format!("rival of {who}")), "{told}: {titles:?}");
    }
}

/// One write to everything that replicas can get in each other's way with.
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
fn an_id_that_was_lost_tells_where_its_bead_went() {
    let remote = Remote::new();
    let [ann, ben] = [Mode::Daemon, Mode::Embedded].map(|mode| remote.replica(mode));
    ann.create(&["older", "--id", "bd-x"]);
    ben.create(&["younger", "--id", "bd-x"]);
    settle(&[&ann, &ben]);
    for bd in [&ann, &ben] {
        let shown = bd.show("bd-x");
        assert_eq!(shown["title"], "older");
        let new = shown["remapped"][0].as_str().unwrap().to_owned();
        assert_eq!(bd.show(&new)["title"], "younger");
        assert!(bd.show(&new).get("remapped").is_none());
        let text = bd.text(&["show", "bd-x"]);
        assert!(text.contains(&format!("Also born as bd-x: {new}")), "{text}");
        let told = bd.json(&["conflicts", "list"]);
        assert!(
            told[0]["kind"] == "remapped" && told[0]["born"] == "bd-x" && told[0]["bead"] == new,
            "{told}"
        );
    }
    // When the bead that holds the id is gone, the error still tells.
    let new = ann.show("bd-x")["remapped"][0].clone();
    ann.json(&["delete", "bd-x"]);
    let error = ann.error(&["show", "bd-x"], "deleted");
    assert!(error["message"].as_str().unwrap().contains(new.as_str().unwrap()), "{error}");
}
