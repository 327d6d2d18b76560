use crate::team::Team;

#[test]
fn sorted_by_id_and_filtered() {
    let team = Team::of(&["cedar", "amber"]);
    team.ok(&["register", "--name", "birch", "--role", "db"]);
    let ids = |args: &[&str]| -> Vec<String> {
        let listed = team.ok(&[&["list"], args].concat());
        listed
            .as_array()
            .unwrap()
            .iter()
            .map(|agent| agent["agent_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&[]), ["amber", "birch", "cedar"]);
    assert_eq!(ids(&["--role", ""]), ["amber", "birch", "cedar"], "a blank filter is ignored");
    assert_eq!(ids(&["--role", "ui"]), ["amber", "cedar"]);
    assert_eq!(ids(&["--role", "db", "--status", "idle"]), ["birch"]);
    assert!(ids(&["--status", "busy"]).is_empty());
}

#[test]
fn text_output() {
    let team = Team::of(&["birch", "amber"]);
    assert_eq!(team.text(&["list"]), "Found 2 agents:\n- amber (ui) [idle]\n- birch (ui) [idle]\n");
    assert_eq!(team.text(&["list", "--role", "db"]), "Found 0 agents:\n");
}

#[test]
fn shows_silent_agents() {
    let mut team = Team::of(&["amber"]);
    for (now, liveness) in [
        ("2026-02-13T12:14:59Z", "active"),
        ("2026-02-13T12:15:00Z", "stale"),
        ("2026-02-13T12:59:59Z", "stale"),
        ("2026-02-13T13:00:00Z", "gone"),
    ] {
        team.at(now);
        assert_eq!(team.ok(&["list"])[0]["liveness"], liveness, "{now}");
        assert_eq!(team.ok(&["show", "--agent", "amber"])["liveness"], liveness, "{now}");
    }
    let said = team.text(&["list"]);
    assert_eq!(said, "Found 1 agents:\n- amber (ui) [idle] gone, last seen 2026-02-13T12:00:00.000Z\n");
    assert!(team.json("agents/amber.json").get("liveness").is_none(), "derived, never stored");
}

#[test]
fn without_a_store_the_list_is_empty_and_no_store_is_created() {
    let team = Team::of(&[]);
    assert_eq!(team.ok(&["list"]), serde_json::json!([]));
    assert!(!team.store().exists());
}
