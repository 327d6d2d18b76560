//! Clients that ask for large answers and never read them.

use serde_json::json;

use crate::bystander::Bystander;
use crate::sandbox::{ACTOR, Mode, Sandbox};
use crate::socket::Client;

/// Each answer is a few megabytes, and together they exceed the daemon's memory limit.
#[test]
fn unread_answers_are_bounded() {
    let bd = Sandbox::new(Mode::Daemon);
    let lines: String = (0..16)
        .map(|n| json!({"id": format!("bd-long{n}"), "title": "t", "description": "x".repeat(1 << 20)}))
        .map(|line| format!("{line}\n"))
        .collect();
    bd.run_with_input(&["import", "-"], lines.as_bytes()).succeeded("import");
    let bystander = Bystander::of(&bd);
    let request = json!({
        "client": env!("CARGO_PKG_VERSION"),
        "actor": ACTOR,
        "call": {"export": {"format": "jsonl"}},
        "output": {"format": "text"},
    });
    let mut idle: Vec<Client> = (0..40).map(|_| Client::connect(&bd.socket()).unwrap()).collect();
    for client in &mut idle {
        client.send(format!("{request}\n").as_bytes()).unwrap();
    }
    // The last clients were answered too: with the whole answer, or with a refusal.
    for client in idle.iter_mut().rev().take(3) {
        let reply = client.receive().unwrap();
        let refused = reply["error"]["code"] == "busy";
        assert!(refused || reply["body"].as_u64().is_some_and(|bytes| bytes > 16 << 20), "{reply}");
    }
    bystander.is_served("unread answers");
    assert_eq!(bd.daemon_pid(), Some(bystander.pid), "the daemon was not replaced");
    drop(idle);
    assert_eq!(bd.text(&["export"]).lines().count(), 17, "a client that reads gets the whole answer");
}
