use crate::team::Team;

#[test]
fn acks_and_keeps_the_first_time() {
    let mut team = Team::of(&["amber", "birch"]);
    let id = team.sends("amber", "birch", "HANDOFF", "s");
    let args = ["ack", "--agent", "birch", "--message", &id];
    let acked = team.at("2026-02-13T12:01:00Z").ok(&args);
    assert_eq!(acked["state"], "acked");
    assert_eq!(acked["acked_at"], "2026-02-13T12:01:00.000Z");
    assert_eq!(acked["read_at"], "2026-02-13T12:01:00.000Z", "an acknowledged message counts as read");
    assert_eq!(team.at("2026-02-13T12:02:00Z").ok(&args), acked);
    assert_eq!(team.json(&format!("messages/index/{id}.json")), acked);
    assert_eq!(team.text(&args), format!("✓ Message acked: {id} (state: acked)\n"));
}

#[test]
fn after_a_read_both_times_are_kept() {
    let mut team = Team::of(&["amber", "birch"]);
    let id = team.sends("amber", "birch", "HANDOFF", "s");
    team.at("2026-02-13T12:01:00Z").ok(&["read", "--agent", "birch", "--message", &id]);
    let acked = team.at("2026-02-13T12:02:00Z").ok(&["ack", "--agent", "birch", "--message", &id]);
    assert_eq!(acked["read_at"], "2026-02-13T12:01:00.000Z");
    assert_eq!(acked["acked_at"], "2026-02-13T12:02:00.000Z");
}

#[test]
fn a_message_that_needs_no_ack_can_be_acked() {
    let team = Team::of(&["amber", "birch"]);
    let id = team.sends("amber", "birch", "INFO", "s");
    assert_eq!(team.ok(&["ack", "--agent", "birch", "--message", &id])["state"], "acked");
}

#[test]
fn only_by_the_recipient() {
    let team = Team::of(&["amber", "birch", "cedar"]);
    let id = team.sends("amber", "birch", "HANDOFF", "s");
    for other in ["amber", "cedar"] {
        let error = team.fails("ACK_FORBIDDEN", 1, &["ack", "--agent", other, "--message", &id]);
        assert!(error.get("reason").is_none());
    }
    assert_eq!(team.json(&format!("messages/index/{id}.json"))["state"], "unread");
}
