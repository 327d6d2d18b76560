use serde_json::json;

use crate::team::{Team, ran};

const MESSAGE_ARGS: [&str; 13] = [
    "send",
    "--from",
    "amber",
    "--to",
    "birch",
    "--bead",
    "bb-dcv.6",
    "--category",
    "HANDOFF",
    "--subject",
    "Edge direction patch ready",
    "--body",
    "Please validate.",
];

/// Returns [`MESSAGE_ARGS`] with other values for some of its flags.
fn with<'a>(changes: &[(&str, &'a str)]) -> Vec<&'a str> {
    let mut args = MESSAGE_ARGS.to_vec();
    for (flag, value) in changes {
        let at = args.iter().position(|arg| arg == flag).unwrap();
        args[at + 1] = value;
    }
    args
}

#[test]
fn the_message_matches_the_contract_in_index_and_inbox() {
    let mut team = Team::of(&["amber", "birch"]);
    team.at("2026-02-13T22:00:01Z");
    let sent = team.ok_with_id("7f3c", &MESSAGE_ARGS);
    let expected = json!({
        "message_id": "msg_20260213_220001_7f3c", "thread_id": "bead:bb-dcv.6", "bead_id": "bb-dcv.6",
        "from_agent": "amber", "to_agent": "birch", "category": "HANDOFF", "subject": "Edge direction patch ready",
        "body": "Please validate.", "state": "unread", "requires_ack": true,
        "created_at": "2026-02-13T22:00:01.000Z", "read_at": null, "acked_at": null,
    });
    assert_eq!(sent, expected);
    assert_eq!(team.json("messages/index/msg_20260213_220001_7f3c.json"), expected);
    assert_eq!(team.lines("messages/birch.jsonl"), [expected]);
    assert!(!team.store().join("pending.json").exists());
}

#[test]
fn text_output() {
    let team = Team::of(&["amber", "birch"]);
    let mut command = team.agent(&MESSAGE_ARGS);
    command.env("BB_ID", "msg_whole");
    assert_eq!(ran(command).out, "✓ Message sent: msg_whole (state: unread)\n");
}

#[test]
fn handoff_and_blocked_ask_for_an_ack() {
    let team = Team::of(&["amber", "birch"]);
    for (category, asks) in [("HANDOFF", true), ("BLOCKED", true), ("DECISION", false), ("INFO", false)] {
        assert_eq!(team.ok(&with(&[("--category", category)]))["requires_ack"], asks, "{category}");
    }
}

#[test]
fn a_thread_can_be_named() {
    let team = Team::of(&["amber", "birch"]);
    assert_eq!(team.ok(&[&MESSAGE_ARGS[..], &["--thread", "t-1"]].concat())["thread_id"], "t-1");
    assert_eq!(team.ok(&[&MESSAGE_ARGS[..], &["--thread", " "]].concat())["thread_id"], "bead:bb-dcv.6");
}

#[test]
fn ids_match_the_contract_and_are_unique() {
    let team = Team::of(&["amber", "birch"]);
    let ids: std::collections::BTreeSet<String> =
        (0..20).map(|_| team.ok(&MESSAGE_ARGS)["message_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 20);
    for id in &ids {
        let tag = id.strip_prefix("msg_20260213_120000_").unwrap();
        assert!(tag.len() >= 4 && tag.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
    }
    team.ok_with_id("once", &MESSAGE_ARGS);
    let mut command = team.agent(&[&MESSAGE_ARGS[..], &["--json"]].concat());
    command.env("BB_ID", "once");
    assert_eq!(crate::team::error(&ran(command), &MESSAGE_ARGS)["reason"], "ID_TAKEN");
    assert_eq!(team.lines("messages/birch.jsonl").len(), 21);
}

#[test]
fn checks_run_from_sender_to_body() {
    let team = Team::of(&["amber", "birch"]);
    let wrong = [
        ("--from", "nobody"),
        ("--to", "nobody"),
        ("--bead", " "),
        ("--category", "info"),
        ("--subject", " "),
    ];
    let codes =
        ["UNKNOWN_SENDER", "UNKNOWN_RECIPIENT", "MISSING_BEAD_ID", "INVALID_CATEGORY", "INVALID_ARGS"];
    for (at, code) in codes.into_iter().enumerate() {
        let exit = if at < 2 { 1 } else { 2 };
        team.fails(code, exit, &with(&wrong[at..]));
    }
    assert!(!team.store().join("messages").exists());
}

#[test]
fn malformed_names_are_unknown() {
    let team = Team::of(&["amber", "birch"]);
    assert_eq!(
        team.fails("UNKNOWN_SENDER", 1, &with(&[("--from", "../amber")]))["reason"],
        "INVALID_AGENT_ID"
    );
    assert_eq!(team.fails("UNKNOWN_RECIPIENT", 1, &with(&[("--to", "A")]))["reason"], "INVALID_AGENT_ID");
    assert!(team.fails("UNKNOWN_RECIPIENT", 1, &with(&[("--to", "cedar")])).get("reason").is_none());
}

#[test]
fn a_bead_is_required_and_not_looked_up() {
    let team = Team::of(&["amber", "birch"]);
    let absent: Vec<&str> =
        MESSAGE_ARGS.into_iter().filter(|arg| !["--bead", "bb-dcv.6"].contains(arg)).collect();
    team.fails("MISSING_BEAD_ID", 2, &absent);
    team.fails("MISSING_BEAD_ID", 2, &with(&[("--bead", "")]));
    team.ok(&with(&[("--bead", "no-such-bead")]));
    let long = "b".repeat(129);
    assert_eq!(team.fails("INVALID_ARGS", 2, &with(&[("--bead", &long)]))["reason"], "INVALID_BEAD_ID");
}

#[test]
fn subject_and_body_are_required_and_kept_as_they_are() {
    let team = Team::of(&["amber", "birch"]);
    for flag in ["--subject", "--body"] {
        assert_eq!(team.fails("INVALID_ARGS", 2, &with(&[(flag, " \n")]))["reason"], "INVALID_MESSAGE");
    }
    let long = "s".repeat(1025);
    assert_eq!(team.fails("INVALID_ARGS", 2, &with(&[("--subject", &long)]))["reason"], "INVALID_MESSAGE");
    let thread = "t".repeat(257);
    let error = team.fails("INVALID_ARGS", 2, &[&MESSAGE_ARGS[..], &["--thread", &thread]].concat());
    assert_eq!(error["reason"], "INVALID_THREAD");
    let body = " a\n\tb \u{1b}[31m é ";
    assert_eq!(team.ok(&with(&[("--body", body)]))["body"], body);
}

#[test]
fn broadcast_is_one_message_for_all_other_agents() {
    let team = Team::of(&["amber", "birch", "cedar"]);
    let sent = team.ok_with_id("x", &with(&[("--to", "broadcast")]));
    let base = "msg_20260213_120000_x";
    assert_eq!(sent["message_id"], format!("{base}_birch"));
    assert_eq!(sent["message_ids"], json!([format!("{base}_birch"), format!("{base}_cedar")]));
    for name in ["birch", "cedar"] {
        let id = format!("{base}_{name}");
        let index = team.json(&format!("messages/index/{id}.json"));
        assert_eq!((&index["to_agent"], &index["from_agent"]), (&json!(name), &json!("amber")));
        assert_eq!(team.lines(&format!("messages/{name}.jsonl")), [index]);
    }
    assert!(!team.store().join("messages/amber.jsonl").exists());
    let said = team.text(&with(&[("--to", "broadcast")]));
    assert_eq!(said.lines().filter(|line| line.starts_with("✓ Message sent: msg_")).count(), 2);
}

#[test]
fn a_broadcast_without_recipients() {
    let team = Team::of(&["amber"]);
    assert_eq!(
        team.fails("UNKNOWN_RECIPIENT", 1, &with(&[("--to", "broadcast")]))["reason"],
        "NO_RECIPIENTS"
    );
}

#[test]
fn a_role_is_an_address() {
    let team = Team::of(&["amber", "birch"]);
    team.ok(&["register", "--name", "cedar", "--role", "db"]);
    team.ok(&["register", "--name", "dogwood", "--role", "db"]);
    let sent = team.ok_with_id("x", &with(&[("--to", "role:db")]));
    assert_eq!(sent["message_ids"], json!(["msg_20260213_120000_x_cedar", "msg_20260213_120000_x_dogwood"]));
    team.fails("UNKNOWN_RECIPIENT", 1, &with(&[("--to", "role:none")]));
    team.fails("UNKNOWN_RECIPIENT", 1, &with(&[("--to", "role:")]));
    team.ok(&["register", "--name", "elder", "--role", "lone"]);
    team.fails("UNKNOWN_RECIPIENT", 1, &with(&[("--from", "elder"), ("--to", "role:lone")]));
}

#[test]
fn an_agent_may_write_to_itself() {
    let team = Team::of(&["amber"]);
    assert_eq!(team.ok(&with(&[("--to", "amber")]))["to_agent"], "amber");
}
