//! The texts that a client gets when a call is wrong or a list is long.

use serde_json::{Value, json};

use super::client::Client;
use crate::sandbox::{Mode, Sandbox};

fn with_toolset(bd: &Sandbox, toolset: &str) -> Client {
    Client::start_with(bd.command(&["mcp", "--toolset", toolset]))
}

#[test]
fn errors_name_the_field_what_came_and_what_is_expected() {
    let bd = Sandbox::new(Mode::Embedded);
    bd.create(&["x", "--id", "bd-1"]);
    let mut client = with_toolset(&bd, "full");
    for (tool, arguments, named) in [
        ("status", json!({"ready": "many"}), vec!["\"ready\"", "integer", "\"many\""]),
        ("status", json!({"ready": -1}), vec!["\"ready\"", "-1"]),
        ("status", json!({"redy": 1}), vec!["\"redy\"", "the fields are", "ready"]),
        ("done", json!({}), vec!["\"reason\"", "missing"]),
        ("next", json!({"wait_s": "long"}), vec!["\"wait_s\"", "integer"]),
        ("make", json!({"title": 7}), vec!["\"title\"", "string", "7"]),
        ("make", json!({"many": [{"title": "a"}, {"titel": "b"}]}), vec!["many[1]", "\"titel\""]),
        ("mail", json!({"offset": -3}), vec!["\"offset\"", "-3"]),
    ] {
        let said = client.fail(tool, arguments.clone());
        for word in named {
            assert!(said.contains(word), "{tool} {arguments}: {said}");
        }
        for foreign in ["usize", "invalid type", "unknown field `", "missing field `", " --"] {
            assert!(!said.contains(foreign), "{tool} {arguments}: {said}");
        }
        assert!(said.lines().any(|line| line == "status"), "a next call: {said}");
    }
    let envelope = |said: String| serde_json::from_str::<Value>(&said).unwrap();
    let unknown = envelope(client.fail("beads_update", json!({"id": "bd-1", "labels": ["a"]})));
    assert_eq!(unknown["error"]["code"], "INVALID_INPUT", "{unknown}");
    assert!(unknown["error"]["message"].as_str().unwrap().contains("\"labels\""), "{unknown}");
    let taken = envelope(client.fail("beads_create", json!({"title": "y", "id": "bd-1"})));
    assert_eq!(taken["error"]["recovery"], "leave id out to get a new one", "{taken}");
}

#[test]
fn tools_name_the_directory_and_the_key_as_given() {
    let bd = Sandbox::new(Mode::Embedded);
    let tool = |name: &str, input: &Value| {
        bd.run_with_input(&["tool", name, "--apply"], input.to_string().as_bytes()).value()
    };
    for name in ["beads.list", "agent.list"] {
        let answer = tool(name, &json!({"repo": "/nonexistent"}));
        assert_eq!((&answer["error"], &answer["field"]), (&json!("not_found"), &json!("repo")), "{answer}");
    }
    assert_eq!(tool("beads.create", &json!({"title": "a", "idempotency_key": "k1"}))["ok"], true);
    let reused = tool("beads.create", &json!({"title": "b", "idempotency_key": "k1"}));
    assert!(reused["message"].as_str().unwrap().contains("\"k1\""), "{reused}");
    let run = bd.run(&["create", "c", "--request-id", "r1", "--json"]);
    assert_eq!(run.exit, Some(0), "{run:?}");
    let error = bd.error(&["create", "d", "--request-id", "r1"], "request_id_reused");
    assert!(error["message"].as_str().unwrap().contains("\"r1\""), "{error}");
    let missing = tool("beads.import", &json!({"path": "nowhere.jsonl"}));
    assert_eq!((&missing["error"], &missing["field"]), (&json!("not_found"), &json!("path")), "{missing}");
    assert!(missing["details"]["hint"].as_str().unwrap().contains("path"), "{missing}");
}

#[test]
fn a_small_budget_is_raised_and_kept_for_the_rest_of_a_list() {
    let bd = Sandbox::new(Mode::Embedded);
    for number in 0..12 {
        bd.create(&[&format!("A bead with a rather long title, number {number}, of many")]);
    }
    let mut client = with_toolset(&bd, "core");
    let said = client.call("status", json!({"ready": 50, "max_chars": 10}));
    assert!(said.contains("WARNING: BUDGET_MIN_CLAMPED"), "{said}");
    let more = said.lines().find_map(|line| line.strip_prefix("MORE: ")).unwrap().to_owned();
    let arguments: Value = serde_json::from_str(more.strip_prefix("status ").unwrap()).unwrap();
    assert_eq!(arguments["max_chars"], 64, "{said}");
    let said = client.call("status", json!({"ready": 50, "max_chars": 200}));
    let more = said.lines().find_map(|line| line.strip_prefix("MORE: ")).unwrap().to_owned();
    assert!(more.contains("\"max_chars\":200"), "{said}");
    // Following the suggested calls shows the whole list.
    let (mut seen, mut next) = (said.lines().filter(|line| line.starts_with("  ")).count(), Some(more));
    while let Some(call) = next {
        let said = client.run(&call);
        seen += said.lines().filter(|line| line.starts_with("  ")).count();
        next = said.lines().find_map(|line| line.strip_prefix("MORE: ")).map(str::to_owned);
    }
    assert_eq!(seen, 12);
}

#[test]
fn the_core_toolset_suggests_only_what_it_lists() {
    let bd = Sandbox::new(Mode::Embedded);
    let mut client = with_toolset(&bd, "core");
    let listed = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    let core: Vec<&str> =
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(core, ["status", "next", "done"]);
    let empty = client.call("status", json!({}));
    bd.create(&["x", "--id", "bd-1"]);
    bd.json_as("bob", &["claim", "bd-1"]);
    bd.create(&["y", "--id", "bd-2"]);
    bd.json(&["close", "bd-2"]);
    let answers = [
        empty,
        client.fail("next", json!({"id": "bd-1"})),
        client.fail("done", json!({"reason": "x"})),
        client.fail("done", json!({"id": "bd-none", "reason": "x"})),
        client.fail("next", json!({"id": "bd-2"})),
        client.call("status", json!({})),
    ];
    for said in answers {
        for other in ["make", "note ", "mail", "beads_", "agent_"] {
            assert!(!said.contains(other), "{other}: {said}");
        }
    }
}

#[test]
fn all_unread_mail_is_counted() {
    let bd = Sandbox::new(Mode::Embedded);
    bd.create(&["x", "--id", "bd-1"]);
    let agent = |name: &str, input: Value| {
        let answer = bd.run_with_input(&["tool", name, "--apply"], input.to_string().as_bytes()).value();
        assert_eq!(answer["ok"], true, "{answer}");
    };
    let mut client = Client::start(&bd);
    client.call("mail", json!({}));
    agent("agent.register", json!({"name": "birch", "role": "ui"}));
    let message = json!({"from": "birch", "to": "ann-here", "bead": "bd-1", "category": "INFO", "subject": "s", "body": "b"});
    agent("agent.send", json!({"batch": true, "items": vec![message; 520]}));
    let said = client.call("mail", json!({}));
    assert!(said.starts_with("520 unread"), "{said}");
    assert!(client.call("status", json!({})).contains("mail 520"));
}

#[test]
fn titles_have_the_same_limit_everywhere() {
    let bd = Sandbox::new(Mode::Embedded);
    let (fits, long) = ("x".repeat(4096), "x".repeat(4097));
    assert_eq!(bd.run(&["create", &fits, "--json"]).exit, Some(0));
    bd.error(&["create", &long], "invalid_value");
    let tool = |title: &str| {
        bd.run_with_input(&["tool", "beads.create"], json!({"title": title}).to_string().as_bytes()).value()
    };
    assert_eq!(tool(&fits)["ok"], true);
    for title in [long.clone(), "é".repeat(2049)] {
        let answer = tool(&title);
        assert_eq!(
            (&answer["error"], &answer["field"]),
            (&json!("invalid_value"), &json!("title")),
            "{answer}"
        );
    }
    let mut client = with_toolset(&bd, "full");
    client.call("make", json!({"title": fits}));
    client.fail("make", json!({"title": long}));
    client.call("beads_create", json!({"title": fits}));
    client.fail("beads_create", json!({"title": long}));
}
