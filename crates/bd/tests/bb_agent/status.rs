use serde_json::json;

use crate::team::Team;

/// Creates a store with every state: reservations that are active, released, expired, and expired and taken
/// over; messages that are unread, read and acknowledged, some of which need no acknowledgement.
fn mixed() -> Team {
    let mut team = Team::of(&["amber", "birch"]);
    for scope in ["gone", "old", "taken"] {
        team.reserves("amber", scope);
    }
    team.ok(&["release", "--agent", "amber", "--scope", "gone"]);
    for (category, verb) in [
        ("HANDOFF", None),
        ("BLOCKED", Some("read")),
        ("HANDOFF", Some("ack")),
        ("INFO", None),
        ("DECISION", Some("read")),
    ] {
        let id = team.sends("amber", "birch", category, category);
        if let Some(verb) = verb {
            team.ok(&[verb, "--agent", "birch", "--message", &id]);
        }
    }
    team.at("2026-02-13T15:00:00Z");
    team.ok(&["reserve", "--agent", "birch", "--scope", "taken", "--bead", "bd-2", "--takeover-stale"]);
    team.reserves("amber", "new");
    team.sends("birch", "amber", "BLOCKED", "last");
    team
}

#[test]
fn counts_every_state() {
    let team = mixed();
    let status = team.ok(&["status"]);
    assert_eq!(
        status["summary"],
        json!({"active": 2, "released": 1, "expired": 2, "unread": 3, "read": 2, "acked": 1,
            "unacked_required_messages": 3})
    );
    let scopes: Vec<_> = status["reservations"].as_array().unwrap().iter().map(|r| &r["scope"]).collect();
    assert_eq!(scopes, ["taken", "new"]);
    let waiting = status["unacked_required_messages"].as_array().unwrap();
    let subjects: Vec<_> = waiting.iter().map(|message| &message["subject"]).collect();
    assert_eq!(subjects, ["last", "BLOCKED", "HANDOFF"], "newest first");
    assert_eq!(status.as_object().unwrap().len(), 3);
}

#[test]
fn filtered_by_agent_and_bead() {
    let team = mixed();
    let amber = team.ok(&["status", "--agent", "amber"]);
    assert_eq!(
        amber["summary"],
        json!({"active": 1, "released": 1, "expired": 2, "unread": 1, "read": 0, "acked": 0,
            "unacked_required_messages": 1})
    );
    let other = team.ok(&["status", "--bead", "bd-2"]);
    assert_eq!((&other["summary"]["active"], &other["summary"]["unread"]), (&json!(1), &json!(0)));
    assert_eq!(
        team.ok(&["status", "--agent", "birch", "--bead", "bd-2"])["reservations"][0]["scope"],
        "taken"
    );
    team.fails("AGENT_NOT_FOUND", 1, &["status", "--agent", "cedar"]);
    assert_eq!(team.fails("INVALID_ARGS", 2, &["status", "--agent", "C"])["reason"], "INVALID_AGENT_ID");
}

#[test]
fn a_renewed_reservation_keeps_its_place() {
    let mut team = Team::of(&["amber"]);
    team.reserves("amber", "first");
    team.at("2026-02-13T12:01:00Z").reserves("amber", "second");
    team.at("2026-02-13T12:02:00Z").reserves("amber", "first");
    let status = team.ok(&["status"]);
    let scopes: Vec<_> = status["reservations"].as_array().unwrap().iter().map(|r| &r["scope"]).collect();
    assert_eq!(scopes, ["first", "second"]);
}

#[test]
fn status_changes_nothing() {
    let team = mixed();
    let before = (team.read("reservations/active.json"), team.read("reservations/history.jsonl"));
    team.ok(&["status"]);
    assert_eq!((team.read("reservations/active.json"), team.read("reservations/history.jsonl")), before);
    team.fails(
        "RESERVATION_STALE_FOUND",
        1,
        &["reserve", "--agent", "birch", "--scope", "old", "--bead", "b"],
    );
}

#[test]
fn text_output() {
    let team = mixed();
    let said = team.text(&["status", "--agent", "amber"]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "Active Reservations: 1");
    assert_eq!(lines[1], "- new (agent: amber, expires: 2026-02-13T17:00:00.000Z)");
    assert_eq!(lines[2], "Unacked Required Messages: 1");
    assert!(
        lines[3].starts_with("- [msg_") && lines[3].ends_with("] BLOCKED: last (from: birch, to: amber)")
    );
    assert_eq!(lines.len(), 4);
    assert_eq!(Team::of(&[]).text(&["status"]), "Active Reservations: 0\nUnacked Required Messages: 0\n");
}
