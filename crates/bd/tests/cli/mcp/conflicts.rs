use serde_json::{Value, json};

use super::client::Client;
use crate::sandbox::{Mode, Sandbox};

/// Creates a replica on which a title was overwritten by a later one.
pub fn loser() -> (Sandbox, tempfile::TempDir, String) {
    let remote = tempfile::tempdir().unwrap();
    git2::Repository::init_bare(remote.path()).unwrap();
    let replica = || {
        let sandbox = Sandbox::new(Mode::Embedded);
        sandbox.repository().remote("origin", remote.path().to_str().unwrap()).unwrap();
        sandbox
    };
    let (ann, bob) = (replica(), replica());
    let id = ann.create(&["Start"]);
    ann.json(&["sync"]);
    bob.json(&["sync"]);
    ann.json(&["update", &id, "--title", "Ann's title"]);
    bob.json_as("bob", &["update", &id, "--title", "Bob's title"]);
    ann.json(&["sync"]);
    bob.json(&["sync"]);
    ann.json(&["sync"]);
    (ann, remote, id)
}

#[test]
fn overwritten_values_are_reported_shown_and_resolved_by_id() {
    let (sandbox, _remote, id) = loser();
    let mut client = Client::start(&sandbox);
    let status = client.call("status", json!({}));
    assert!(status.contains("\nWARNING: CONFLICT 1 overwritten values | fix: beads_conflicts"), "{status}");
    let mut view = |arguments: Value| -> Value {
        let mut envelope: Value = serde_json::from_str(&client.call("beads_conflicts", arguments)).unwrap();
        envelope["result"].take()
    };
    let listed = view(json!({}));
    let conflict = &listed["items"][0];
    let name = conflict["id"].as_str().unwrap();
    let digits = name.strip_prefix("CONFLICT-").unwrap();
    assert!(digits.len() == 32 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')), "{name}");
    assert_eq!((&listed["count"], &conflict["field"]), (&json!(1), &json!("title")), "{listed}");
    assert_eq!(view(json!({"id": name}))["id"], name);
    let winner = sandbox.show(&id)["title"].clone();
    let bead = view(json!({"id": name, "resolve": "restore"}));
    assert_eq!(bead["id"], json!(id), "{bead}");
    assert_ne!(sandbox.show(&id)["title"], winner);
    assert_eq!(view(json!({}))["count"], 0);
    assert!(!client.call("status", json!({})).contains("WARNING"));
}

#[test]
fn a_dismissed_conflict_is_no_longer_listed() {
    let (sandbox, _remote, id) = loser();
    let mut client = Client::start(&sandbox);
    let winner = sandbox.show(&id)["title"].clone();
    let listed: Value = serde_json::from_str(&client.call("beads_conflicts", json!({}))).unwrap();
    let name = &listed["result"]["items"][0]["id"];
    client.call("beads_conflicts", json!({"id": name, "resolve": "dismiss"}));
    let left: Value = serde_json::from_str(&client.call("beads_conflicts", json!({}))).unwrap();
    assert_eq!(left["result"]["count"], 0);
    let all: Value = serde_json::from_str(&client.call("beads_conflicts", json!({"all": true}))).unwrap();
    assert_eq!(all["result"]["items"][0]["id"], *name);
    assert_eq!(sandbox.show(&id)["title"], winner);
}
