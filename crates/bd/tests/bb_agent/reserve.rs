use serde_json::{Value, json};

use crate::team::{NOON, Team, ran};

fn args<'a>(agent: &'a str, scope: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["reserve", "--agent", agent, "--scope", scope, "--bead", "bd-1"], more].concat()
}

fn active(team: &Team) -> Vec<Value> {
    team.json("reservations/active.json")["reservations"].as_array().unwrap().clone()
}

#[test]
fn the_record_matches_the_contract() {
    let mut team = Team::of(&["agent-graph-1"]);
    team.at("2026-02-13T22:09:00Z");
    let scope = "src/components/graph/*";
    let made = team.ok_with_id("e1a4", &args("agent-graph-1", scope, &[]));
    let expected = json!({
        "reservation_id": "res_20260213_220900_e1a4", "scope": scope, "agent_id": "agent-graph-1", "bead_id": "bd-1",
        "state": "active", "created_at": "2026-02-13T22:09:00.000Z", "expires_at": "2026-02-14T00:09:00.000Z",
        "released_at": null,
    });
    assert_eq!(made, expected);
    assert_eq!(team.json("reservations/active.json"), json!({"reservations": [expected]}));
    assert!(!team.store().join("reservations/history.jsonl").exists());
}

#[test]
fn text_output() {
    let team = Team::of(&["amber"]);
    let mut command = team.agent(&args("amber", "src/**", &[]));
    command.env("BB_ID", "res_1");
    let expected = "✓ Scope reserved: res_1\nScope: src/**\nExpires: 2026-02-13T14:00:00.000Z\n";
    assert_eq!(ran(command).out, expected);
}

#[test]
fn a_taken_scope_names_its_holder() {
    let team = Team::of(&["amber", "birch"]);
    team.reserves("amber", "src/a.rs");
    let error = team.fails("RESERVATION_CONFLICT", 1, &args("birch", "src/a.rs", &[]));
    assert!(error["message"].as_str().unwrap().contains("amber"));
    assert_eq!(error["details"]["holder"], "amber");
    assert_eq!(error["details"]["expires_at"], "2026-02-13T14:00:00.000Z");
    team.fails("RESERVATION_CONFLICT", 1, &args("birch", "./src//a.rs", &["--exact"]));
    team.fails("RESERVATION_CONFLICT", 1, &args("birch", "src/a.rs", &["--takeover-stale"]));
    assert_eq!(active(&team).len(), 1);
}

#[test]
fn overlap_conflicts_unless_exact() {
    let team = Team::of(&["amber", "birch"]);
    team.reserves("amber", "src/**");
    for scope in ["src/a.rs", "src/deep/er/b.rs", "**/*.rs", "{docs,src}/x", "src/", "."] {
        let error = team.fails("RESERVATION_CONFLICT", 1, &args("birch", scope, &[]));
        assert_eq!(error["details"]["scope"], "src/**", "{scope}");
        assert_eq!(error["details"]["holder"], "amber");
    }
    for scope in ["docs/**", "srcs", "lib.rs", "*.rs"] {
        team.reserves("birch", scope);
    }
    assert_eq!(team.ok(&args("birch", "src/a.rs", &["--exact"]))["scope"], "src/a.rs");
}

#[test]
fn a_directory_covers_everything_below_it() {
    let team = Team::of(&["amber", "birch"]);
    team.reserves("amber", "./src/");
    assert_eq!(active(&team)[0]["scope"], "src");
    team.fails("RESERVATION_CONFLICT", 1, &args("birch", "src/a/b.rs", &[]));
    team.fails("RESERVATION_CONFLICT", 1, &args("birch", "src/*.rs", &[]));
}

#[test]
fn an_agents_own_scopes_may_overlap() {
    let team = Team::of(&["amber"]);
    team.reserves("amber", "src/**");
    team.reserves("amber", "src/a.rs");
    assert_eq!(active(&team).len(), 2);
}

#[test]
fn the_holder_renews() {
    let mut team = Team::of(&["amber"]);
    let first = team.reserves("amber", "src");
    let again = team.at("2026-02-13T13:00:00Z").ok(&args("amber", "src/", &["--ttl", "30"]));
    assert_eq!(again["reservation_id"], first["reservation_id"]);
    assert_eq!(again["created_at"], NOON);
    assert_eq!(again["expires_at"], "2026-02-13T13:30:00.000Z");
    assert_eq!(active(&team), [again]);
    assert!(team.lines("reservations/history.jsonl").is_empty());
}

#[test]
fn another_bead_makes_it_another_reservation() {
    let team = Team::of(&["amber"]);
    let first = team.reserves("amber", "src");
    let second = team.ok(&["reserve", "--agent", "amber", "--scope", "src", "--bead", "bd-2"]);
    assert_ne!(second["reservation_id"], first["reservation_id"]);
    assert_eq!(active(&team), [second]);
    let history = team.lines("reservations/history.jsonl");
    assert_eq!((history.len(), &history[0]["reservation_id"]), (1, &first["reservation_id"]));
    assert_eq!((&history[0]["state"], &history[0]["bead_id"]), (&json!("released"), &json!("bd-1")));
}

#[test]
fn an_expired_reservation_is_taken_over_on_request() {
    let mut team = Team::of(&["amber", "birch"]);
    let first = team.reserves("amber", "src/**");
    team.at("2026-02-13T13:59:59.999Z").fails("RESERVATION_CONFLICT", 1, &args("birch", "src/**", &[]));
    team.at("2026-02-13T14:00:00Z");
    for scope in ["src/**", "src/a.rs"] {
        let error = team.fails("RESERVATION_STALE_FOUND", 1, &args("birch", scope, &[]));
        assert_eq!(error["details"]["holder"], "amber");
        assert!(error["message"].as_str().unwrap().contains("--takeover-stale"));
    }
    // The previous holder is refused too, so that it learns that its lease expired.
    team.fails("RESERVATION_STALE_FOUND", 1, &args("amber", "src/**", &[]));
    assert_eq!(active(&team), std::slice::from_ref(&first), "a refusal changes nothing");

    let second = team.ok(&args("birch", "src/**", &["--takeover-stale"]));
    assert_eq!(active(&team), [second]);
    let mut expected = first;
    expected["state"] = json!("expired");
    assert_eq!(team.lines("reservations/history.jsonl"), [expected]);
}

#[test]
fn an_active_overlap_prevents_a_takeover() {
    let mut team = Team::of(&["amber", "birch", "cedar"]);
    team.reserves("amber", "src/a.rs");
    team.at("2026-02-13T15:00:00Z").ok(&args("cedar", "src/b.rs", &[]));
    let error = team.fails("RESERVATION_CONFLICT", 1, &args("birch", "src", &["--takeover-stale"]));
    assert_eq!(error["details"]["holder"], "cedar");
    assert_eq!(active(&team).len(), 2);
    assert!(team.lines("reservations/history.jsonl").is_empty());
}

#[test]
fn arguments_are_checked_before_state() {
    let team = Team::of(&[]);
    for ttl in ["4", "1441", "0", "-5", "soon"] {
        let error = team.fails("INVALID_ARGS", 2, &args("amber", "src", &["--ttl", ttl]));
        assert_eq!(error["reason"], "INVALID_TTL", "{ttl}");
    }
    for scope in ["", "  ", "../x", "a/../../x", "/etc", "a{b", "[b-a]", "a\nb"] {
        let error = team.fails("INVALID_ARGS", 2, &args("amber", scope, &[]));
        assert_eq!(error["reason"], "INVALID_SCOPE", "{scope}");
    }
    team.fails("MISSING_BEAD_ID", 2, &["reserve", "--agent", "amber", "--scope", "src"]);
    team.fails("MISSING_BEAD_ID", 2, &["reserve", "--agent", "amber", "--scope", "src", "--bead", " "]);
    team.fails("AGENT_NOT_FOUND", 1, &args("amber", "src", &[]));
    assert!(!team.store().exists(), "a refusal creates no store");
}

#[test]
fn the_bounds_of_the_lifetime_are_allowed() {
    let team = Team::of(&["amber"]);
    assert_eq!(team.ok(&args("amber", "a", &["--ttl", "5"]))["expires_at"], "2026-02-13T12:05:00.000Z");
    assert_eq!(team.ok(&args("amber", "b", &["--ttl", "1440"]))["expires_at"], "2026-02-14T12:00:00.000Z");
}
