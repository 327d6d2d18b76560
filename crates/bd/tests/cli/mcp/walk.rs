//! Every call that a tool suggests succeeds without changes.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::client::Client;
use crate::sandbox::{Mode, Sandbox};

/// Follows suggestions and counts them.
struct Walker<'a> {
    sandbox: &'a Sandbox,
    client: Client,
    taken: usize,
}

/// A call that an answer suggests.
enum Step {
    Tool(String, Value),
    Method(String, Value),
}

impl Walker<'_> {
    fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        // Another actor creates a bead while this call waits for one.
        let waits = arguments.get("wait_s").is_some();
        if waits {
            self.sandbox.create(&["Made while another waits"]);
        }
        let result =
            self.client.ask("tools/call", json!({"name": tool, "arguments": arguments}))["result"].take();
        let failed = result.get("isError").is_some();
        (result["content"][0]["text"].as_str().unwrap().to_owned(), failed)
    }

    /// Follows every suggestion of an answer, and those of the answers to them, to this depth.
    fn follow(&mut self, answer: &str, depth: usize) -> Result<(), TestCaseError> {
        for step in steps(answer) {
            self.taken += 1;
            match step {
                Step::Method(method, params) => {
                    let answered = self.client.ask(&method, params);
                    prop_assert!(
                        answered.get("result").is_some(),
                        "{} after {}: {}",
                        method,
                        answer,
                        answered
                    );
                }
                Step::Tool(tool, arguments) => {
                    let (text, failed) = self.call(&tool, &arguments);
                    prop_assert!(!failed, "{} {} after\n{}\nsaid\n{}", tool, arguments, answer, text);
                    if depth > 0 {
                        self.follow(&text, depth - 1)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Parses the suggestions of an answer. Portals print commands unindented after the state, or after `MORE:`;
/// envelopes have a list.
fn steps(answer: &str) -> Vec<Step> {
    if let Ok(envelope) = serde_json::from_str::<Value>(answer) {
        let step = |suggestion: &Value| {
            assert_eq!(suggestion["validated"], true, "{suggestion}");
            assert!(suggestion["reason"].is_string() && suggestion["priority"].is_string(), "{suggestion}");
            let name = |field: &str| suggestion[field].as_str().unwrap().to_owned();
            match suggestion["action"].as_str().unwrap() {
                "call_tool" => Step::Tool(name("target"), suggestion["params"].clone()),
                "call_method" => Step::Method(name("method"), suggestion["params"].clone()),
                other => panic!("{other}"),
            }
        };
        return envelope["suggestions"].as_array().unwrap().iter().map(step).collect();
    }
    let ours =
        answer.lines().skip(1).filter(|line| !line.starts_with("  ") && !line.starts_with("WARNING: "));
    let step = |line: &str| {
        let line = line.strip_prefix("MORE: ").unwrap_or(line);
        let (tool, arguments) = line.split_once(' ').unwrap_or((line, "{}"));
        Step::Tool(tool.to_owned(), serde_json::from_str(arguments).unwrap())
    };
    ours.map(step).collect()
}

/// Returns a call that agents make, valid or not, about one of the beads.
fn call(kind: usize, id: &str, other: &str) -> (&'static str, Value) {
    match kind {
        0 => ("status", json!({})),
        1 => ("status", json!({"ready": 2})),
        2 => ("next", json!({})),
        3 => ("next", json!({"id": id})),
        4 => ("next", json!({"id": "bd-none"})),
        5 => ("next", json!({"label": "nobody-has-this"})),
        6 => ("done", json!({"reason": "x"})),
        7 => ("done", json!({"id": id, "reason": "x", "next": true})),
        8 => ("note", json!({"text": "x"})),
        9 => ("note", json!({"text": "x", "id": id})),
        10 => ("make", json!({"title": "More", "deps": [id]})),
        11 => ("make", json!({"many": [{"name": "a", "title": "A"}, {"title": "B", "deps": ["a"]}]})),
        12 => ("mail", json!({})),
        13 => ("mail", json!({"to": "ann-here", "subject": "Hello", "bead": id})),
        14 => ("beads_list", json!({"limit": 1, "max_chars": 400})),
        15 => ("beads_list", json!({"max_chars": 300, "status": ["open"]})),
        16 => ("beads_search", json!({"query": "bead", "limit": 1})),
        17 => ("beads_update", json!({"id": id, "title": "x", "expected_revision": 1})),
        18 => ("beads_update", json!({"target": {"id": id}, "titel": "x"})),
        19 => ("beads_claim", json!({"id": id})),
        20 => ("beads_close", json!({"id": id, "fence": "1.1"})),
        21 => ("beads_dep_add", json!({"from": id, "to": other})),
        22 => ("beads_show", json!({"target": "TASK-404"})),
        23 => ("beads_delete", json!({"id": id, "strict_targeting": true})),
        24 => ("beads_create", json!({"title": "x", "id": other})),
        25 => ("beads_patch", json!({"target": id, "ops": [{"op": "unset", "field": "title"}]})),
        26 => ("agent_inbox", json!({"agent": "ann-here", "limit": 1})),
        27 => ("beads_delete", json!({"id": id, "reason": "x"})),
        28 => ("mail", json!({"to": "nobody", "subject": "x", "bead": id})),
        _ => ("done", json!({"id": id, "reason": "x", "expected_target_id": other})),
    }
}

const KINDS: usize = 30;

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_suggestion_can_be_executed_unchanged(
        walk in proptest::collection::vec((0..KINDS, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 25..40),
    ) {
        let sandbox = Sandbox::new(Mode::Daemon);
        let ids: Vec<String> = (0..4).map(|number| sandbox.create(&[&format!("Bead {number}")])).collect();
        sandbox.json_as("eve", &["claim", &ids[3]]);
        let mut walker = Walker { client: Client::start(&sandbox), sandbox: &sandbox, taken: 0 };
        for (kind, one, other) in walk {
            let (tool, arguments) = call(kind, one.get::<String>(&ids), other.get::<String>(&ids));
            let (answer, _) = walker.call(tool, &arguments);
            walker.follow(&answer, 1)?;
        }
        prop_assert!(walker.taken > 10);
    }
}
