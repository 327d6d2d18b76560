//! `agent.*`: coordination through JSON tools.

use serde_json::json;

use crate::sandbox::{Mode, Sandbox};
use crate::tool::{apply, done, refused};

#[test]
fn agents_talk_through_tools() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let store = sandbox.dir().join(".beadboard");
    let register = |name: &str| json!({"name": name, "role": "ui"});
    assert_eq!(done(&sandbox, "agent.register", &[], &register("ann-1"))["metadata"]["applied"], false);
    assert!(!store.exists(), "a preview created the store");
    apply(&sandbox, "agent.register", &register("ann-1"));
    apply(&sandbox, "agent.register", &register("bob-1"));
    refused(&sandbox, "agent.register", &["--apply"], &register("ann-1"), "conflict", 1);
    refused(&sandbox, "agent.show", &[], &json!({"agent": "nobody"}), "not_found", 1);

    let letter = json!({"from": "ann-1", "to": "bob-1", "bead": "bd-a1", "category": "HANDOFF", "subject": "Yours",
        "body": "Please.", "idempotency_key": "once"});
    let sent = apply(&sandbox, "agent.send", &letter);
    assert_eq!(apply(&sandbox, "agent.send", &letter), sent);
    let mut other = letter.clone();
    other["body"] = json!("Something else.");
    refused(&sandbox, "agent.send", &["--apply"], &other, "conflict", 1);
    // The receipt may be lost with the process that should have written it. Even then the message is not sent
    // twice.
    std::fs::remove_dir_all(store.join("agent/receipts")).unwrap();
    assert_eq!(apply(&sandbox, "agent.send", &letter), sent);
    let to_all = json!({"from": "ann-1", "to": "broadcast", "bead": "bd-a1", "category": "INFO", "subject": "All",
        "body": "Hello.", "idempotency_key": "twice"});
    let broadcast = apply(&sandbox, "agent.send", &to_all);
    std::fs::remove_dir_all(store.join("agent/receipts")).unwrap();
    assert_eq!(apply(&sandbox, "agent.send", &to_all), broadcast);

    let before = std::fs::read_to_string(store.join("agent/agents/bob-1.json")).unwrap();
    let inbox = done(&sandbox, "agent.inbox", &[], &json!({"agent": "bob-1"}))["result"].clone();
    assert_eq!(inbox.as_array().unwrap().len(), 2, "{inbox}");
    let message = json!({"agent": "bob-1", "message": sent["message_id"]});
    assert_eq!(done(&sandbox, "agent.ack", &[], &message)["result"]["state"], "acked");
    assert_eq!(
        before,
        std::fs::read_to_string(store.join("agent/agents/bob-1.json")).unwrap(),
        "a reader left a trace"
    );
    assert_eq!(apply(&sandbox, "agent.read", &message)["state"], "read");
    assert_eq!(apply(&sandbox, "agent.ack", &message)["state"], "acked");

    let reserve = json!({"agent": "ann-1", "scope": "src/**", "bead": "bd-a1"});
    apply(&sandbox, "agent.reserve", &reserve);
    let guard = |agent: &str| json!({"agent": agent, "paths": ["src/a.rs"]});
    assert_eq!(done(&sandbox, "agent.guard", &[], &guard("ann-1"))["result"]["decision"], "allow");
    refused(&sandbox, "agent.guard", &[], &guard("bob-1"), "conflict", 1);
    assert_eq!(done(&sandbox, "agent.status", &[], &json!({}))["result"]["summary"]["active"], 1);
    refused(
        &sandbox,
        "agent.release",
        &["--apply"],
        &json!({"agent": "bob-1", "scope": "src/**"}),
        "permission_denied",
        1,
    );
    apply(&sandbox, "agent.release", &json!({"agent": "ann-1", "scope": "src/**"}));
    let names = done(&sandbox, "agent.list", &[], &json!({"role": "ui"}))["result"].clone();
    assert_eq!(names.as_array().unwrap().len(), 2);
}

#[test]
fn the_first_calls_under_one_key_all_get_the_same_answer() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let input = json!({"name": "ann-1", "role": "ui", "idempotency_key": "k"}).to_string();
    let mut children = Vec::new();
    for _ in 0..20 {
        let mut command = sandbox.command(&["tool", "agent.register", "--apply"]);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        children.push(child);
    }
    let answers: Vec<serde_json::Value> = children
        .into_iter()
        .map(|child| crate::sandbox::Run::finish(child).value()["result"].clone())
        .collect();
    assert_eq!(answers[0]["agent_id"], "ann-1", "{answers:?}");
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}
