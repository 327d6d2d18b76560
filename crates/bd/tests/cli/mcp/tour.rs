//! A call of every tool on a store with random text, for tests of properties that all tools share.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::client::Client;
use crate::sandbox::{Mode, Sandbox};

/// The texts of a store.
#[derive(Debug, Clone)]
pub struct Words {
    pub title: String,
    pub text: String,
    pub label: String,
    pub beads: usize,
}

/// Returns a strategy for any text that people or programs write, on one line or many.
pub fn words() -> impl Strategy<Value = Words> {
    let odd = "[^\\p{C}]{0,60}";
    let prose = "([a-zA-Zäß漢🙂\"\\\\<>&.,:=-]{1,12}[ \n]){0,60}";
    ("[A-Za-zé漢][^\\p{C}]{0,200}", prose, odd, "[a-z]{1,20}", 3_usize..12).prop_map(
        |(title, prose, odd, label, beads)| Words { title, text: format!("{prose}{odd}."), label, beads },
    )
}

/// A store, a session of an agent on it, and the ids that the calls need.
pub struct Tour {
    /// Dropped before the store that it uses.
    pub client: Client,
    pub sandbox: Sandbox,
    pub ids: Vec<String>,
    message: String,
}

impl Tour {
    pub fn new(words: &Words) -> Self {
        let sandbox = Sandbox::new(Mode::Daemon);
        let mut client = Client::start(&sandbox);
        let Words { title, text, label, beads } = words;
        let mut ids: Vec<String> = Vec::new();
        for number in 0..*beads {
            let mut bead = json!({
                "title": format!("{title} {number}").trim(), "description": text, "design": text, "notes": text,
                "acceptance_criteria": text, "labels": [label], "external_ref": format!("TASK-{number:03}"),
                "metadata": {"about": text, label.clone(): text},
            });
            if let Some(first) = ids.first() {
                bead["parent"] = json!(first);
            }
            let made = full(&mut client, "beads_create", &bead);
            ids.push(made["id"].as_str().unwrap().to_owned());
        }
        for name in ["ann-here", "agent-two"] {
            full(&mut client, "agent_register", &json!({"name": name, "role": label}));
        }
        let send = json!({"from": "agent-two", "to": "ann-here", "bead": ids[0], "category": "INFO",
            "subject": title.trim(), "body": text});
        let message = full(&mut client, "agent_send", &send)["message_id"].as_str().unwrap().to_owned();
        Self { client, sandbox, ids, message }
    }

    /// Returns a call of every full view. All of them succeed.
    pub fn full_views(&self, words: &Words) -> Vec<(&'static str, Value)> {
        let Words { title, text, label, .. } = words;
        let [first, second, third, ..] = &self.ids[..] else { panic!("there are three") };
        let file = self.sandbox.root().join("import.jsonl");
        std::fs::write(&file, self.sandbox.text(&["export", "--format", "jsonl"])).unwrap();
        let agent = "ann-here";
        let artifact = json!({"op": "append", "field": "notes", "value": format!("{text}\nartifact: {}", json!({"kind": "diff", "diff": text}))});
        vec![
            ("beads_create", json!({"title": title.trim(), "description": text, "labels": [label]})),
            ("beads_update", json!({"id": first, "description": text, "status": "TODO"})),
            ("beads_patch", json!({"target": first, "ops": [artifact]})),
            ("beads_note_add", json!({"id": first, "content": text})),
            ("beads_claim", json!({"id": second})),
            ("beads_unclaim", json!({"id": second, "reason": text})),
            ("beads_claim", json!({"id": second})),
            ("beads_handover", json!({"id": second, "to": "someone", "text": text})),
            ("beads_cancel", json!({"id": second, "reason": text})),
            ("beads_reopen", json!({"id": second, "reason": text})),
            ("beads_close", json!({"id": second, "reason": text})),
            ("beads_reopen", json!({"id": second, "reason": text})),
            ("beads_ask", json!({"id": second, "text": text})),
            ("beads_questions", json!({})),
            ("beads_answer", json!({"id": second, "text": text})),
            // The answer offers the bead to the agent that asked.
            ("beads_unclaim", json!({"id": second, "reason": text})),
            ("beads_delete", json!({"id": third, "reason": text})),
            ("beads_restore", json!({"id": third})),
            ("beads_dep_add", json!({"from": second, "to": "TASK-002"})),
            ("beads_dep_tree", json!({"id": second})),
            ("beads_dep_remove", json!({"from": second, "to": third})),
            ("beads_show", json!({"id": first})),
            ("beads_list", json!({})),
            ("beads_list", json!({"limit": 2, "offset": 1})),
            ("beads_ready", json!({})),
            ("beads_search", json!({"query": label})),
            ("beads_sync", json!({})),
            ("beads_validate", json!({})),
            ("beads_export", json!({"format": "jsonl"})),
            ("beads_import", json!({"path": file})),
            ("beads_conflicts", json!({})),
            ("beads_watch", json!({"since": "0"})),
            ("agent_register", json!({"name": "agent-three", "role": label})),
            (
                "agent_send",
                json!({"from": agent, "to": "agent-two", "bead": first, "category": "INFO", "subject": title.trim(), "body": text}),
            ),
            ("agent_inbox", json!({"agent": agent})),
            ("agent_read", json!({"agent": agent, "message": self.message})),
            ("agent_ack", json!({"agent": agent, "message": self.message})),
            ("agent_reserve", json!({"agent": agent, "scope": "src/**", "bead": first})),
            ("agent_guard", json!({"agent": agent, "paths": ["src/x.rs"]})),
            ("agent_status", json!({})),
            ("agent_release", json!({"agent": agent, "scope": "src/**"})),
            ("agent_list", json!({})),
            ("agent_show", json!({"agent": agent})),
        ]
    }

    /// Returns a call of every portal. All of them succeed.
    pub fn portals(&self, words: &Words) -> Vec<(&'static str, Value)> {
        let Words { title, text, label, .. } = words;
        let artifact = json!({"kind": "cmd_output", "command": title, "stdout": text, "exit_code": 1, "meta": {"why": text}});
        vec![
            ("make", json!({"title": title.trim(), "description": text, "labels": [label]})),
            (
                "make",
                json!({"many": [{"name": "a", "title": title.trim()}, {"title": title.trim(), "parent": "a"}]}),
            ),
            ("next", json!({"id": self.ids[0]})),
            ("status", json!({"ready": 10})),
            ("note", json!({"text": text, "artifact": artifact})),
            ("next", json!({"id": "TASK-000", "max_chars": 100_000})),
            ("mail", json!({"to": "agent-two", "subject": title.trim(), "body": text})),
            ("mail", json!({})),
            ("done", json!({"reason": text, "next": true})),
            ("done", json!({"reason": text})),
            ("status", json!({})),
        ]
    }
}

/// Returns the result of a full view that must succeed.
pub fn full(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    let mut envelope: Value = serde_json::from_str(&client.call(tool, arguments.clone())).unwrap();
    envelope["result"].take()
}

#[test]
fn the_tour_covers_every_tool() {
    let words = Words { title: "Title".into(), text: "Text.".into(), label: "label".into(), beads: 3 };
    let mut tour = Tour::new(&words);
    let calls = [tour.full_views(&words), tour.portals(&words)].concat();
    let tools = tour.client.ask("tools/list", json!({"toolset": "full"}))["result"]["tools"].take();
    for tool in tools.as_array().unwrap() {
        assert!(calls.iter().any(|(name, _)| tool["name"] == *name), "{} is not on the tour", tool["name"]);
    }
    for (tool, arguments) in calls {
        tour.client.call(tool, arguments);
    }
}
