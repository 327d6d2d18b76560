use crate::team::Team;

#[test]
fn one_agent() {
    let team = Team::of(&["amber"]);
    let mut shown = team.ok(&["show", "--agent", "amber"]);
    assert_eq!(shown.as_object_mut().unwrap().remove("liveness").unwrap(), "active");
    assert_eq!(shown, team.json("agents/amber.json"));
    assert_eq!(
        team.text(&["show", "--agent", "amber"]),
        "Agent: amber\nName: amber\nRole: ui\nStatus: idle\nLast Seen: 2026-02-13T12:00:00.000Z (active)\n"
    );
}

#[test]
fn unknown_or_malformed() {
    let team = Team::of(&["amber"]);
    team.fails("AGENT_NOT_FOUND", 1, &["show", "--agent", "birch"]);
    assert_eq!(team.fails("INVALID_ARGS", 2, &["show", "--agent", "../amber"])["reason"], "INVALID_AGENT_ID");
}

#[test]
fn being_shown_does_not_update_last_seen() {
    let mut team = Team::of(&["amber"]);
    let before = team.read("agents/amber.json");
    team.at("2026-02-13T13:00:00Z");
    team.ok(&["show", "--agent", "amber"]);
    team.ok(&["status", "--agent", "amber"]);
    assert_eq!(team.read("agents/amber.json"), before);
}
