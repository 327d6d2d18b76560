use serde_json::Value;

use crate::team::Team;

fn subjects(found: &Value) -> Vec<&str> {
    found.as_array().unwrap().iter().map(|message| message["subject"].as_str().unwrap()).collect()
}

#[test]
fn newest_first_also_within_one_millisecond() {
    let mut team = Team::of(&["amber", "birch"]);
    team.at("2026-02-13T12:02:00Z").sends("amber", "birch", "INFO", "late");
    team.at("2026-02-13T12:01:00Z").sends("amber", "birch", "INFO", "early");
    team.sends("amber", "birch", "INFO", "early too");
    team.sends("birch", "amber", "INFO", "another's");
    assert_eq!(subjects(&team.ok(&["inbox", "--agent", "birch"])), ["late", "early too", "early"]);
}

#[test]
fn filtered_by_state_and_bead() {
    let team = Team::of(&["amber", "birch"]);
    let (one, two) =
        (team.sends("amber", "birch", "INFO", "one"), team.sends("amber", "birch", "INFO", "two"));
    team.sends("amber", "birch", "INFO", "three");
    team.ok(&[
        "send",
        "--from",
        "amber",
        "--to",
        "birch",
        "--bead",
        "bd-2",
        "--category",
        "INFO",
        "--subject",
        "four",
        "--body",
        "b",
    ]);
    team.ok(&["read", "--agent", "birch", "--message", &one]);
    team.ok(&["ack", "--agent", "birch", "--message", &two]);
    let inbox = |args: &[&str]| team.ok(&[&["inbox", "--agent", "birch"], args].concat());
    assert_eq!(subjects(&inbox(&["--state", "unread"])), ["four", "three"]);
    assert_eq!(subjects(&inbox(&["--state", "read"])), ["one"]);
    assert_eq!(subjects(&inbox(&["--state", "acked"])), ["two"]);
    assert_eq!(subjects(&inbox(&["--bead", "bd-2"])), ["four"]);
    assert_eq!(inbox(&["--bead", " "]).as_array().unwrap().len(), 4, "a blank filter is ignored");
    assert_eq!(subjects(&inbox(&["--bead", "bd-1", "--state", "unread"])), ["three"]);
    assert_eq!(inbox(&["--state", "acked"])[0]["state"], "acked", "the current state, not the state as sent");
}

#[test]
fn limited() {
    let team = Team::of(&["amber", "birch"]);
    let line = team.store().join("messages/birch.jsonl");
    let id = team.sends("amber", "birch", "INFO", "s");
    // Sixty messages, written directly instead of with sixty processes.
    let (sent, index) =
        (std::fs::read_to_string(&line).unwrap(), team.read(&format!("messages/index/{id}.json")));
    let mut all = String::new();
    for n in 0..60 {
        let other = format!("msg_{n}");
        all += &sent.replace(&id, &other);
        team.write(&format!("messages/index/{other}.json"), &index.replace(&id, &other));
    }
    std::fs::write(line, all).unwrap();
    let count =
        |args: &[&str]| team.ok(&[&["inbox", "--agent", "birch"], args].concat()).as_array().unwrap().len();
    assert_eq!(count(&[]), 50);
    assert_eq!(count(&["--limit", "500"]), 60);
    assert_eq!(count(&["--limit", "1"]), 1);
    for limit in ["0", "501", "-1", "many", ""] {
        let error = team.fails("INVALID_ARGS", 2, &["inbox", "--agent", "birch", "--limit", limit]);
        assert_eq!(error["reason"], "INVALID_LIMIT", "{limit}");
    }
}

#[test]
fn text_output() {
    let team = Team::of(&["amber", "birch"]);
    let id = team.sends("amber", "birch", "HANDOFF", "patch ready");
    let said = team.text(&["inbox", "--agent", "birch"]);
    assert_eq!(said, format!("Inbox (1):\n- [{id}] HANDOFF: patch ready (from: amber)\n"));
    assert_eq!(team.text(&["inbox", "--agent", "amber"]), "Inbox (0):\n");
    assert_eq!(team.ok(&["inbox", "--agent", "amber"]), serde_json::json!([]));
}

#[test]
fn arguments_are_checked_before_state() {
    let team = Team::of(&[]);
    let error = team.fails("INVALID_ARGS", 2, &["inbox", "--agent", "amber", "--state", "new"]);
    assert_eq!(error["reason"], "INVALID_STATE");
    team.fails("INVALID_ARGS", 2, &["inbox", "--agent", "amber", "--limit", "0"]);
    team.fails("AGENT_NOT_FOUND", 1, &["inbox", "--agent", "amber"]);
    assert!(!team.store().exists(), "a refusal creates no store");
}
