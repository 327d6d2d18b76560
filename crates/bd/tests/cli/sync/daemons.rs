//! Replicas with a daemon each, mutating at the same time.

use super::{Remote, settle, titles};
use crate::sandbox::{Mode, Sandbox};

/// Everything two replicas can do to each other, while their daemons push whenever they like.
fn quarrel(count: usize) {
    let remote = Remote::new();
    let replicas: Vec<Sandbox> = (0..count).map(|_| remote.replica(Mode::Daemon)).collect();
    for (id, title) in [("bd-1", "shared"), ("bd-2", "doomed"), ("bd-3", "parent"), ("bd-4", "far")] {
        replicas[0].create(&[title, "--id", id]);
    }
    let all: Vec<&Sandbox> = replicas.iter().collect();
    settle(&all);
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
    let is_written = |value: &serde_json::Value| written.iter().any(|title| value == title);
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
