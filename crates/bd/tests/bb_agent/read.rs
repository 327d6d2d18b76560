use crate::team::Team;

#[test]
fn unread_becomes_read_once() {
    let mut team = Team::of(&["amber", "birch"]);
    let id = team.sends("amber", "birch", "HANDOFF", "s");
    let args = ["read", "--agent", "birch", "--message", &id];
    let read = team.at("2026-02-13T12:01:00Z").ok(&args);
    assert_eq!(
        (read["state"].as_str(), read["read_at"].as_str()),
        (Some("read"), Some("2026-02-13T12:01:00.000Z"))
    );
    assert!(read["acked_at"].is_null());
    assert_eq!(team.json(&format!("messages/index/{id}.json")), read);
    assert_eq!(team.at("2026-02-13T12:02:00Z").ok(&args), read, "the first time counts");
    assert_eq!(team.lines("messages/birch.jsonl")[0]["state"], "unread", "the log keeps the message as sent");
}

#[test]
fn acked_is_final() {
    let team = Team::of(&["amber", "birch"]);
    let id = team.sends("amber", "birch", "HANDOFF", "s");
    let acked = team.ok(&["ack", "--agent", "birch", "--message", &id]);
    assert_eq!(team.ok(&["read", "--agent", "birch", "--message", &id]), acked);
}

#[test]
fn text_output() {
    let team = Team::of(&["amber", "birch"]);
    let id = team.sends("amber", "birch", "INFO", "subject");
    let args = ["read", "--agent", "birch", "--message", &id];
    assert_eq!(team.text(&args), format!("✓ Message read: {id} (state: read)\n"));
    assert_eq!(
        team.text(&[&args[..], &["--body"]].concat()),
        format!("✓ Message read: {id} (state: read)\nFrom: amber\nBead: bd-1\nINFO: subject\n\ntext\n")
    );
}

#[test]
fn only_by_the_recipient() {
    let team = Team::of(&["amber", "birch"]);
    let id = team.sends("amber", "birch", "INFO", "s");
    let before = team.read(&format!("messages/index/{id}.json"));
    let error = team.fails("ACK_FORBIDDEN", 1, &["read", "--agent", "amber", "--message", &id]);
    assert_eq!(error["reason"], "READ_FORBIDDEN");
    team.fails("AGENT_NOT_FOUND", 1, &["read", "--agent", "cedar", "--message", &id]);
    assert_eq!(team.read(&format!("messages/index/{id}.json")), before);
}

#[test]
fn no_id_names_a_file_outside_the_index() {
    let team = Team::of(&["amber", "birch"]);
    let id = team.sends("amber", "birch", "INFO", "s");
    team.write("messages/planted.json", &team.read(&format!("messages/index/{id}.json")));
    for verb in ["read", "ack"] {
        for bad in ["", "../planted", "../msg_x", "msg_../../planted", "msg_a/b", "msg_", ".hidden"] {
            let error = team.fails("MESSAGE_NOT_FOUND", 1, &[verb, "--agent", "birch", "--message", bad]);
            assert_eq!(error["reason"], "INVALID_MESSAGE_ID", "{bad}");
        }
        let error = team.fails("MESSAGE_NOT_FOUND", 1, &[verb, "--agent", "birch", "--message", "msg_none"]);
        assert!(error.get("reason").is_none());
    }
}
