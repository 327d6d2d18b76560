use crate::team::{Team, data, ran};

fn last_seen(team: &Team, agent: &str) -> String {
    team.json(&format!("agents/{agent}.json"))["last_seen_at"].as_str().unwrap().to_owned()
}

#[test]
fn moves_last_seen_and_nothing_else() {
    let mut team = Team::of(&["amber"]);
    let mut expected = team.json("agents/amber.json");
    team.at("2026-02-13T12:05:00Z");
    expected["last_seen_at"] = "2026-02-13T12:05:00.000Z".into();
    assert_eq!(team.ok(&["heartbeat", "--agent", "amber"]), expected);
    assert_eq!(team.json("agents/amber.json"), expected);
    assert_eq!(
        team.text(&["heartbeat", "--agent", "amber"]),
        "✓ Heartbeat: amber (last seen: 2026-02-13T12:05:00.000Z)\n"
    );
    team.fails("AGENT_NOT_FOUND", 1, &["heartbeat", "--agent", "birch"]);
}

#[test]
fn a_clock_that_went_back_moves_nothing() {
    let mut team = Team::of(&["amber"]);
    team.at("2026-02-13T11:00:00Z");
    team.ok(&["heartbeat", "--agent", "amber"]);
    assert_eq!(last_seen(&team, "amber"), "2026-02-13T12:00:00.000Z");
}

#[test]
fn every_command_of_an_agent_updates_last_seen() {
    let mut team = Team::of(&["amber", "birch"]);
    let id = team.sends("birch", "amber", "HANDOFF", "s");
    let commands: [&[&str]; 9] = [
        &[
            "send",
            "--from",
            "amber",
            "--to",
            "birch",
            "--bead",
            "b",
            "--category",
            "INFO",
            "--subject",
            "s",
            "--body",
            "b",
        ],
        &["inbox", "--agent", "amber"],
        &["read", "--agent", "amber", "--message", &id],
        &["ack", "--agent", "amber", "--message", &id],
        &["reserve", "--agent", "amber", "--scope", "src", "--bead", "bd-1"],
        &["guard", "--agent", "amber", "src"],
        &["release", "--agent", "amber", "--scope", "src"],
        // This one fails, but it counts as activity.
        &["release", "--agent", "amber", "--scope", "src"],
        &[
            "send",
            "--from",
            "amber",
            "--to",
            "nobody",
            "--bead",
            "b",
            "--category",
            "INFO",
            "--subject",
            "s",
            "--body",
            "b",
        ],
    ];
    for (minute, command) in commands.into_iter().enumerate() {
        let now = format!("2026-02-13T12:{:02}:00.000Z", minute + 1);
        team.at(&now).run(command);
        assert_eq!(last_seen(&team, "amber"), now, "{command:?}");
    }
    assert_eq!(last_seen(&team, "birch"), "2026-02-13T12:00:00.000Z");
}

#[test]
fn the_variable_bb_agent_names_the_caller() {
    let mut team = Team::of(&["amber", "birch"]);
    let commands: [&[&str]; 4] = [&["list"], &["show", "--agent", "birch"], &["status"], &["heartbeat"]];
    for (minute, args) in commands.into_iter().enumerate() {
        let now = format!("2026-02-13T12:{:02}:00.000Z", minute + 1);
        team.at(&now);
        let mut command = team.agent(&[args, &["--json"]].concat());
        command.env("BB_AGENT", "amber");
        data(&ran(command), args);
        assert_eq!(last_seen(&team, "amber"), now, "{args:?}");
    }
    assert_eq!(last_seen(&team, "birch"), "2026-02-13T12:00:00.000Z");
}
