use serde_json::json;

use crate::team::Team;

#[test]
fn released_into_the_history() {
    let mut team = Team::of(&["amber", "birch"]);
    let mut expected = team.reserves("amber", "src/**");
    team.at("2026-02-13T12:30:00Z");
    let released = team.ok(&["release", "--agent", "amber", "--scope", "./src/**"]);
    expected["state"] = json!("released");
    expected["released_at"] = json!("2026-02-13T12:30:00.000Z");
    assert_eq!(released, expected);
    assert_eq!(team.lines("reservations/history.jsonl"), [expected]);
    assert_eq!(team.json("reservations/active.json"), json!({"reservations": []}));
    team.reserves("birch", "src/**");
}

#[test]
fn text_output() {
    let team = Team::of(&["amber"]);
    team.reserves("amber", "src");
    let said = team.text(&["release", "--agent", "amber", "--scope", "src"]);
    assert_eq!(said, "✓ Reservation released. State: released\n");
}

#[test]
fn only_by_the_holder() {
    let team = Team::of(&["amber", "birch"]);
    team.reserves("amber", "src");
    let before = team.read("reservations/active.json");
    let error = team.fails("RELEASE_FORBIDDEN", 1, &["release", "--agent", "birch", "--scope", "src"]);
    assert_eq!(error["details"]["holder"], "amber");
    team.fails("AGENT_NOT_FOUND", 1, &["release", "--agent", "cedar", "--scope", "src"]);
    assert_eq!(team.read("reservations/active.json"), before);
}

#[test]
fn releasing_an_unreserved_scope_fails() {
    let mut team = Team::of(&["amber"]);
    team.fails("RESERVATION_NOT_FOUND", 1, &["release", "--agent", "amber", "--scope", "src"]);
    team.reserves("amber", "src/**");
    // An overlapping scope is not the reserved scope.
    team.fails("RESERVATION_NOT_FOUND", 1, &["release", "--agent", "amber", "--scope", "src/a.rs"]);
    let before = team.read("reservations/active.json");
    team.at("2026-02-13T14:00:00Z");
    let error = team.fails("RESERVATION_NOT_FOUND", 1, &["release", "--agent", "amber", "--scope", "src/**"]);
    assert_eq!(error["reason"], "RESERVATION_EXPIRED");
    assert_eq!(team.read("reservations/active.json"), before, "the reservation is kept");
    assert_eq!(
        team.fails("INVALID_ARGS", 2, &["release", "--agent", "zzz", "--scope", ""])["reason"],
        "INVALID_SCOPE"
    );
}
