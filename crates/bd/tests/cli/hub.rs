//! `bd hub` and claims, without a server. `.ci/suites/hub` runs them with one.

use serde_json::Value;

use crate::sandbox::{Mode, Sandbox, wait_until};

/// An address on this machine where nothing listens.
const NOWHERE: &str = "postgres://ann@127.0.0.1:1/beads?sslmode=disable";

fn away(bd: &Sandbox) -> bool {
    bd.json(&["hub", "status"])["away_ms"].is_u64()
}

/// Returns the error of a claim that is refused because the hub is away.
fn refused(bd: &Sandbox, args: &[&str]) -> Value {
    let run = bd.run(&[args, &["--json"]].concat());
    let error = run.value()["error"].clone();
    assert_eq!((run.exit, &error["code"]), (Some(22), &Value::from("hub_unreachable")), "{args:?}: {run:?}");
    error
}

#[test]
fn without_a_hub_the_status_says_so() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["work", "--id", "bd-1"]);
    assert_eq!(bd.json(&["hub", "status"])["url"], Value::Null);
    assert!(bd.text(&["hub", "status"]).contains("no hub is configured"));
    bd.error(&["hub", "fence"], "invalid_value");
}

#[test]
fn the_sql_is_printed_for_administrators() {
    let bd = Sandbox::new(Mode::Embedded);
    let sql = bd.text(&["hub", "init", "--print-sql"]);
    assert!(sql.contains("CREATE ROLE beads_member NOLOGIN"), "{sql}");
}

#[test]
fn a_password_is_never_stored_or_shown() {
    let bd = Sandbox::new(Mode::Daemon);
    let address = "postgres://ann:hunter2@db.example/beads";
    let error = bd.error(&["config", "set", "hub.url", address], "invalid_value");
    assert!(!error.to_string().contains("hunter2"), "{error}");
    assert_eq!(bd.json(&["config", "get", "hub.url"])["value"], "");
    // As an argument, everybody on this machine could see it.
    for verb in ["init", "upgrade"] {
        let error = bd.error(&["hub", verb, address], "invalid_value");
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert!(error.to_string().contains("must not contain a password"), "{error}");
    }
}

#[test]
fn while_the_hub_is_away_writes_go_on_and_claims_are_refused() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["work", "--id", "bd-1"]);
    bd.json(&["config", "set", "hub.url", NOWHERE]);
    wait_until("the daemon finds nothing there", || away(&bd));
    bd.create(&["written without the hub", "--id", "bd-2"]);
    for claim in [vec!["claim", "bd-1"], vec!["claim", "--next"], vec!["close", "bd-2", "--claim-next"]] {
        let error = refused(&bd, &claim);
        assert!(error["details"]["away_ms"].is_u64(), "{error}");
    }
    bd.json(&["config", "set", "hub.offline_claims", "git"]);
    let claimed = bd.json(&["claim", "bd-1"]);
    assert_eq!(claimed["confirmed"], Value::Bool(false), "{claimed}");
    bd.json(&["config", "unset", "hub.url"]);
    assert_eq!(bd.json(&["hub", "status"])["url"], Value::Null);
}

#[test]
fn a_command_without_a_daemon_does_not_claim_past_the_hub() {
    let bd = Sandbox::new(Mode::Embedded);
    bd.create(&["work", "--id", "bd-1"]);
    bd.json(&["config", "set", "hub.url", NOWHERE]);
    refused(&bd, &["claim", "bd-1"]);
    bd.json(&["config", "set", "hub.offline_claims", "git"]);
    let claimed = bd.run(&["claim", "bd-1", "--json"]);
    assert_eq!((claimed.exit, &claimed.value()["confirmed"]), (Some(0), &Value::Bool(false)), "{claimed:?}");
    assert!(claimed.stderr.contains("hub"), "the warning names what did not decide: {claimed:?}");
}
