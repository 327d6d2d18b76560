use serde_json::json;

use super::client::Client;
use crate::sandbox::{Mode, Sandbox, both};

#[test]
fn the_happy_path_is_the_state_and_what_to_run_next() {
    both(|sandbox| {
        let first = sandbox.create(&[
            "Write the parser",
            "-p",
            "1",
            "-d",
            "Numbers too.",
            "--acceptance",
            "Tests pass",
        ]);
        let second = sandbox.create(&["Use the parser", "--deps", &first]);
        let mut client = Client::start(sandbox);

        let status = client.call("status", json!({}));
        assert_eq!(status, "no focus | ready 1, blocked 1, open 2\nnext");

        let brief = client.run("next");
        let lines: Vec<&str> = brief.lines().collect();
        assert!(
            lines[0].starts_with(&format!("{first} P1 task Write the parser ACTIVE | yours until ")),
            "{brief}"
        );
        assert_eq!(lines[1], format!(r#"done {{"id":"{first}","reason":"…"}}"#));
        assert_eq!(lines[2..], ["  Numbers too.", "  accept: Tests pass"]);

        let noted = client.call("note", json!({"text": "Floats are odd"}));
        assert_eq!(noted, format!("noted on {first}\n{}", lines[1]));

        let done = client.run(lines[1]);
        let offered = format!(
            "{first} DONE | unblocked {second} Use the parser | ready: {second} P2 task Use the parser"
        );
        assert_eq!(done, format!("{offered}\nnext {{\"id\":\"{second}\"}}"));
        assert_eq!(sandbox.show(&first)["close_reason"], "…");

        let brief = client.run(done.lines().nth(1).unwrap());
        assert!(brief.contains(&format!("  after: {first} Write the parser: …")), "{brief}");
        let done = client.call("done", json!({"reason": "used", "next": true}));
        assert_eq!(done, format!("{second} DONE | nothing ready\nstatus"));
    });
}

#[test]
fn done_may_claim_the_next_in_the_same_step() {
    let sandbox = Sandbox::new(Mode::Daemon);
    let (first, second) = (sandbox.create(&["One", "-p", "1"]), sandbox.create(&["Two", "-d", "Second"]));
    let mut client = Client::start(&sandbox);
    client.run("next");
    let done = client.call("done", json!({"reason": "ok", "next": true}));
    assert!(done.starts_with(&format!("{first} DONE | {second} P2 task Two ACTIVE | yours until")), "{done}");
    assert!(done.ends_with("\n  Second"), "{done}");
}

#[test]
fn ready_beads_come_in_pages() {
    let sandbox = Sandbox::new(Mode::Daemon);
    for number in 0..5 {
        sandbox.create(&[&format!("Bead {number}")]);
    }
    let mut client = Client::start(&sandbox);
    let page = client.call("status", json!({"ready": 3}));
    assert_eq!(page.lines().filter(|line| line.starts_with("  bd-")).count(), 3, "{page}");
    let more = page.lines().last().unwrap().strip_prefix("MORE: ").unwrap();
    assert_eq!(more, r#"status {"offset":3,"ready":3}"#);
    let rest = client.run(more);
    assert_eq!(rest.lines().filter(|line| line.starts_with("  bd-")).count(), 2, "{rest}");
    assert!(!rest.contains("MORE:"), "{rest}");
}

#[test]
fn many_beads_with_parents_and_dependencies_in_one_call() {
    both(|sandbox| {
        let mut client = Client::start(sandbox);
        let many = json!([
            {"name": "epic", "title": "Release", "type": "epic"},
            {"name": "log", "title": "Changelog", "parent": "epic", "priority": "HIGH"},
            {"title": "Tag", "parent": "epic", "deps": ["log"], "labels": ["git"]},
        ]);
        let made = client.call("make", json!({"many": many}));
        assert!(made.starts_with("made 3: epic=bd-"), "{made}");
        assert_eq!(made.lines().nth(1), Some("next"));
        let brief = client.run("next");
        assert!(brief.contains("P1 task Changelog ACTIVE"), "{brief}");
        assert!(brief.contains("part of: bd-"), "{brief}");
        let later = json!([{"title": "Roof", "deps": ["walls"]}, {"name": "walls", "title": "Walls"}]);
        let made = client.call("make", json!({"many": later}));
        assert!(made.starts_with("made 2: walls=bd-"), "a name may come before its bead: {made}");
        let circle =
            json!([{"name": "a", "title": "A", "deps": ["b"]}, {"name": "b", "title": "B", "parent": "a"}]);
        let before = sandbox.ids(&["list"]).len();
        let error = client.fail("make", json!({"many": circle}));
        assert!(error.starts_with("ERROR: CONFLICT "), "{error}");
        let error =
            client.fail("make", json!({"many": [{"title": "Fine"}, {"title": "Not", "deps": ["bd-none"]}]}));
        assert!(error.starts_with("ERROR: UNKNOWN_ID "), "{error}");
        assert_eq!(sandbox.ids(&["list"]).len(), before, "all or none");
        let error = client.fail("make", json!({"many": [{"title": "A", "colour": "red"}]}));
        assert!(error.starts_with("ERROR: INVALID_INPUT "), "{error}");
    });
}

#[test]
fn agents_exchange_mail() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let bead = sandbox.create(&["Talk"]);
    let mut ann = Client::start(&sandbox);
    let mut bob = Client::start_with(sandbox.command(&["mcp", "--actor", "bob"]));
    assert_eq!(bob.call("mail", json!({})), "no mail for bob\nstatus");
    let letter = json!({"to": "bob", "subject": "Yours", "body": "Please take over", "bead": bead, "category": "HANDOFF"});
    let sent = ann.call("mail", letter);
    assert!(sent.starts_with("sent msg_"), "{sent}");
    assert!(bob.call("status", json!({})).lines().next().unwrap().ends_with(", mail 1"));
    let inbox = bob.call("mail", json!({}));
    let mut lines = inbox.lines();
    assert_eq!(lines.next(), Some("1 unread for bob"));
    let ack = lines.next().unwrap();
    assert!(inbox.contains(&format!("HANDOFF from ann-here on {bead}: Yours")), "{inbox}");
    assert!(inbox.contains("\n  Please take over"), "{inbox}");
    assert!(bob.run(ack).starts_with("acked msg_"));
    let error = ann.fail("mail", json!({"to": "nobody", "subject": "x", "bead": bead}));
    assert!(error.starts_with("ERROR: UNKNOWN_RECIPIENT "), "{error}");
}

#[test]
fn errors_have_a_code_a_fix_and_commands_that_work() {
    both(|sandbox| {
        let taken = sandbox.create(&["Taken"]);
        let shut = sandbox.create(&["Shut"]);
        sandbox.create(&["Free"]);
        sandbox.json_as("eve", &["claim", &taken]);
        sandbox.json(&["close", &shut]);
        let mut client = Client::start(sandbox);
        for (tool, arguments, code) in [
            ("done", json!({"reason": "x"}), "UNKNOWN_ID"),
            ("next", json!({"id": "bd-none"}), "UNKNOWN_ID"),
            ("next", json!({"id": taken}), "CONFLICT"),
            ("next", json!({"id": shut}), "CONFLICT"),
            ("next", json!({"id": "TASK-001"}), "UNKNOWN_ID"),
            ("next", json!({"label": ""}), "INVALID_NAME"),
            ("done", json!({"id": taken, "reason": " "}), "INVALID_INPUT"),
            ("note", json!({"text": "", "id": taken}), "INVALID_INPUT"),
            ("note", json!({"text": "x", "id": taken, "artifact": {"kind": "url"}}), "INVALID_INPUT"),
            ("make", json!({"title": ""}), "INVALID_INPUT"),
            ("make", json!({"title": "x", "colour": "red"}), "INVALID_INPUT"),
            ("status", json!({"workspace": "elsewhere"}), "UNKNOWN_WORKSPACE"),
            ("status", json!({"workspace": "no good"}), "INVALID_NAME"),
        ] {
            let error = client.fail(tool, arguments.clone());
            let (first, commands) = error.split_once('\n').unwrap_or((&error, ""));
            assert!(first.starts_with(&format!("ERROR: {code} ")), "{tool} {arguments}: {error}");
            assert!(first.contains(" | fix: "), "{error}");
            assert!(commands.lines().count() <= 2, "{error}");
            for command in commands.lines() {
                client.run(command);
            }
        }
    });
}

#[test]
fn evidence_is_kept_with_a_note() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let bead = sandbox.create(&["Prove it"]);
    let mut client = Client::start(&sandbox);
    let artifact =
        json!({"kind": "cmd_output", "command": "make test", "stdout": "1 passed", "exit_code": 0});
    client.call("note", json!({"id": bead, "text": "Green", "artifact": artifact}));
    let note = sandbox.show(&bead)["notes"][0]["content"].as_str().unwrap().to_owned();
    assert!(note.starts_with("Green\nartifact: {") && note.contains("make test"), "{note}");
}

#[test]
fn secrets_are_redacted_and_stay_stored() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let secret = "ghp_abcdefghijklmnop1234";
    let bead = sandbox.create(&[
        &format!("Rotate {secret}"),
        "-d",
        &format!("Use token={secret} or Bearer {secret}"),
    ]);
    let mut client = Client::start(&sandbox);
    for text in [client.run("next"), client.run("status"), client.call("done", json!({"reason": secret}))] {
        assert!(!text.contains("abcdefghijklmnop"), "{text}");
    }
    assert!(sandbox.show(&bead)["title"].as_str().unwrap().contains(secret));
}

#[test]
fn a_long_brief_is_cut_off_unless_more_is_requested() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let bead = sandbox.create(&["Long", "-d", &"Many words. ".repeat(200)]);
    let mut client = Client::start(&sandbox);
    let short = client.run("next");
    assert!(short.len() < 1000 && short.contains("WARNING: BUDGET_TRUNCATED "), "{short}");
    let long = client.call("next", json!({"id": bead, "max_chars": 10_000}));
    assert!(long.len() > 2000 && !long.contains("WARNING:"), "{long}");
    let tiny = client.call("next", json!({"id": bead, "max_chars": 0}));
    assert!(tiny.starts_with(&bead), "{tiny}");
}
