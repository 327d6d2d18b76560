use serde_json::{Value, json};

use super::client::Client;
use crate::sandbox::{Mode, Sandbox};

/// The codes of the contract (4-envelope, "Error model").
const CONTRACT: [&str; 11] = [
    "NOT_INITIALIZED",
    "UNKNOWN_WORKSPACE",
    "UNKNOWN_ID",
    "INVALID_NAME",
    "INVALID_INPUT",
    "REVISION_MISMATCH",
    "EXPECTED_TARGET_MISMATCH",
    "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID",
    "CHECKPOINTS_NOT_CONFIRMED",
    "CONFLICT",
    "BUDGET_EXCEEDED",
];

/// Codes that cannot occur; docs/MCP.md says why.
const NEVER: [&str; 2] = ["CHECKPOINTS_NOT_CONFIRMED", "BUDGET_EXCEEDED"];

/// Returns the rows of the table of codes in the documentation.
fn documented() -> Vec<(String, String)> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/MCP.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.split_once("| code | when |\n|---|---|\n").unwrap().1;
    let row = |line: &str| {
        let (code, when) = line.trim_matches('|').split_once('|').unwrap();
        (code.trim().trim_matches('`').to_owned(), when.trim().to_owned())
    };
    table.lines().take_while(|line| line.starts_with('|')).map(row).collect()
}

#[test]
fn the_documentation_has_every_code_of_the_contract_and_no_other() {
    let documented = documented();
    let codes: Vec<&str> = documented.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(codes, CONTRACT);
    for (code, when) in &documented {
        assert_eq!(when.starts_with("never: "), NEVER.contains(&code.as_str()), "{code}: {when}");
        assert!(when.len() > 10, "{code}: {when}");
    }
}

/// Returns the code of a failed call of either kind of tool, and checks the form of the whole answer.
fn code(client: &mut Client, tool: &str, arguments: &Value) -> String {
    let text = client.fail(tool, arguments.clone());
    if let Some(line) = text.strip_prefix("ERROR: ") {
        assert!(line.lines().next().unwrap().contains(" | fix: "), "{text}");
        return line.split(' ').next().unwrap().to_owned();
    }
    let envelope: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&envelope["success"], &envelope["result"]), (&json!(false), &json!({})), "{text}");
    assert!(!envelope["error"]["message"].as_str().unwrap().is_empty(), "{text}");
    assert!(!envelope["error"]["recovery"].as_str().unwrap().is_empty(), "{text}");
    envelope["error"]["code"].as_str().unwrap().to_owned()
}

#[test]
fn every_other_code_is_given_by_portals_and_full_views() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let (one, two) = (sandbox.create(&["One", "-p", "0"]), sandbox.create(&["Two"]));
    let (taken, shut) = (sandbox.create(&["Taken"]), sandbox.create(&["Shut"]));
    sandbox.json(&["dep", "add", &one, &two]);
    sandbox.json_as("eve", &["claim", &taken]);
    sandbox.json(&["close", &shut]);
    let mut client = Client::start(&sandbox);
    let calls = [
        ("UNKNOWN_WORKSPACE", "status", json!({"workspace": "elsewhere"})),
        ("UNKNOWN_WORKSPACE", "beads_show", json!({"id": one, "workspace": "elsewhere"})),
        ("UNKNOWN_ID", "next", json!({"id": "bd-none"})),
        ("UNKNOWN_ID", "beads_show", json!({"id": "bd-none"})),
        ("UNKNOWN_ID", "beads_dep_remove", json!({"from": two, "to": one})),
        ("UNKNOWN_ID", "beads_conflicts", json!({"id": format!("CONFLICT-{}", "0".repeat(32))})),
        ("INVALID_NAME", "next", json!({"label": ""})),
        ("INVALID_NAME", "beads_list", json!({"workspace": "no good"})),
        ("INVALID_NAME", "beads_create", json!({"title": "x", "labels": ["a", "b,c"]})),
        ("INVALID_INPUT", "make", json!({"title": ""})),
        ("INVALID_INPUT", "beads_create", json!({"title": "x", "priority": 9})),
        ("INVALID_NAME", "beads_conflicts", json!({"id": "CONFLICT-1"})),
        ("INVALID_INPUT", "beads_dep_add", json!({"from": one, "to": one})),
        ("REVISION_MISMATCH", "beads_update", json!({"id": one, "title": "x", "expected_revision": 1})),
        ("REVISION_MISMATCH", "beads_close", json!({"id": one, "expected_version": 1})),
        ("EXPECTED_TARGET_MISMATCH", "next", json!({"id": one, "expected_target_id": two})),
        ("EXPECTED_TARGET_MISMATCH", "beads_delete", json!({"id": one, "expected_target_id": two})),
        (
            "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID",
            "done",
            json!({"reason": "x", "strict_targeting": true}),
        ),
        (
            "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID",
            "beads_close",
            json!({"id": one, "strict_targeting": true}),
        ),
        ("CONFLICT", "next", json!({"id": taken})),
        ("CONFLICT", "beads_claim", json!({"id": taken})),
        ("CONFLICT", "beads_claim", json!({"id": shut})),
        ("CONFLICT", "beads_create", json!({"title": "x", "id": one})),
        ("CONFLICT", "beads_dep_add", json!({"from": two, "to": one})),
        ("CONFLICT", "beads_update", json!({"id": one, "title": "x", "expected_content_hash": "0"})),
        ("CONFLICT", "beads_close", json!({"id": taken, "fence": "1.1"})),
    ];
    let before = sandbox.everything();
    let nowhere = Sandbox::without_repository(Mode::Embedded);
    let mut outside = Client::start(&nowhere);
    let mut given = vec![("NOT_INITIALIZED", "status"), ("NOT_INITIALIZED", "beads_list")];
    for (wanted, tool) in &given {
        assert_eq!(code(&mut outside, tool, &json!({})), *wanted, "{tool}");
    }
    for (wanted, tool, arguments) in calls {
        assert_eq!(code(&mut client, tool, &arguments), wanted, "{tool} {arguments}");
        given.push((wanted, tool));
    }
    assert_eq!(sandbox.everything(), before, "what fails changes nothing");
    for wanted in CONTRACT.into_iter().filter(|code| !NEVER.contains(code)) {
        assert!(
            given.iter().any(|(code, tool)| *code == wanted && tool.contains('_')),
            "{wanted} in full views"
        );
        let portal = given.iter().any(|(code, tool)| *code == wanted && !tool.contains('_'));
        // Portals take no revision: none of them overwrites the text of others.
        assert_eq!(portal, wanted != "REVISION_MISMATCH", "{wanted} in portals");
    }
}
