use serde_json::json;

use crate::team::{NOON, Team};

#[test]
fn the_record_matches_the_contract_and_the_file_is_pretty() {
    let team = Team::of(&[]);
    let args = ["register", "--name", "agent-ui-1", "--display", "UI Agent 1", "--role", "ui"];
    let expected = json!({
        "agent_id": "agent-ui-1", "display_name": "UI Agent 1", "role": "ui", "status": "idle",
        "created_at": NOON, "last_seen_at": NOON, "version": 1,
    });
    assert_eq!(team.ok(&args), expected);
    assert_eq!(team.json("agents/agent-ui-1.json"), expected);
    assert!(team.read("agents/agent-ui-1.json").starts_with("{\n  \"agent_id\": \"agent-ui-1\",\n"));
}

#[test]
fn text_output() {
    let team = Team::of(&[]);
    let said = team.text(&["register", "--name", "amber", "--role", "ui"]);
    assert_eq!(said, "✓ Agent registered: amber (role: ui, status: idle)\n");
    assert_eq!(team.json("agents/amber.json")["display_name"], "amber");
}

#[test]
fn a_duplicate_is_refused_and_changes_nothing() {
    let mut team = Team::of(&["amber"]);
    let before = team.read("agents/amber.json");
    team.at("2026-02-13T13:00:00Z");
    team.fails("DUPLICATE_AGENT_ID", 1, &["register", "--name", "amber", "--role", "db"]);
    assert_eq!(team.read("agents/amber.json"), before);
}

#[test]
fn force_update_changes_display_and_role_only_and_counts_the_version() {
    let mut team = Team::of(&["amber"]);
    team.at("2026-02-13T13:00:00Z");
    let force = ["register", "--name", "amber", "--role", "db", "--force-update"];
    let first = team.ok(&[&force[..], &["--display", "Amber"]].concat());
    assert_eq!(first["version"], 2);
    let again = team.ok(&force);
    assert_eq!(
        again,
        json!({"agent_id": "amber", "display_name": "Amber", "role": "db", "status": "idle", "created_at": NOON,
            "last_seen_at": "2026-02-13T13:00:00.000Z", "version": 3})
    );
}

#[test]
fn force_update_of_a_new_agent_creates_it() {
    let team = Team::of(&[]);
    let made = team.ok(&["register", "--name", "amber", "--role", "ui", "--force-update"]);
    assert_eq!(made["version"], 1);
}

#[test]
fn fields_of_a_later_version_survive_an_update() {
    let team = Team::of(&["amber"]);
    let mut record = team.json("agents/amber.json");
    record["colour"] = json!("red");
    team.write("agents/amber.json", &record.to_string());
    team.ok(&["register", "--name", "amber", "--role", "db", "--force-update"]);
    assert_eq!(team.json("agents/amber.json")["colour"], "red");
}

#[test]
fn names_and_roles_are_checked() {
    let team = Team::of(&[]);
    let long = "a".repeat(49);
    for name in ["", "ab", "Amber", "a--b", "ab-", "a_b", "../etc", "a/b", &long] {
        let error = team.fails("INVALID_ARGS", 2, &["register", "--name", name, "--role", "ui"]);
        assert_eq!(error["reason"], "INVALID_AGENT_ID", "{name}");
    }
    let error = team.fails("INVALID_ARGS", 2, &["register", "--name", "broadcast", "--role", "ui"]);
    assert_eq!(error["reason"], "RESERVED_AGENT_ID");
    let error = team.fails("INVALID_ARGS", 2, &["register", "--name", "amber", "--role", "  "]);
    assert_eq!(error["reason"], "INVALID_ROLE");
    let wide = "x".repeat(129);
    let error =
        team.fails("INVALID_ARGS", 2, &["register", "--name", "amber", "--role", "ui", "--display", &wide]);
    assert_eq!(error["reason"], "INVALID_DISPLAY");
    for edge in ["abc", &"a".repeat(48), "0-0-0"] {
        team.ok(&["register", "--name", edge, "--role", "ui"]);
    }
    assert!(!team.dir().join("etc.json").exists());
}
