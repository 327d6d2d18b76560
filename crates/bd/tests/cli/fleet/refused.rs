//! Servers that reject claim refs.

use beads_store::GitProgram;

use super::machines;
use crate::sandbox::{Mode, Run, Sandbox};
use crate::sync::Remote;

/// Runs a command with the git program on its path.
fn with_git(bd: &Sandbox, args: &[&str]) -> Run {
    let mut command = bd.command(&[args, &["--json"]].concat());
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("GIT_CONFIG_NOSYSTEM", "1");
    Run::of(&mut command)
}

#[test]
fn a_server_that_forbids_claim_refs_is_reported_with_a_solution() {
    if !GitProgram::is_installed() {
        return;
    }
    let remote = Remote::new();
    let git = git2::Repository::open(remote.path()).unwrap();
    git.config().unwrap().set_str("receive.hideRefs", "refs/beads").unwrap();
    let all = machines(&remote, &[Mode::Embedded], 2);
    let bd = &all[0];
    let run = with_git(bd, &["claim", "bd-00"]);
    assert_eq!(run.value()["error"]["code"], "push_refused", "{run:?}");
    assert_eq!(bd.show("bd-00")["status"], "open");
    let doctor = with_git(bd, &["doctor"]).value();
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "claim_refs").expect("it is reported");
    assert!(check["findings"][0]["message"].as_str().unwrap().contains("claim.ref_prefix"), "{check}");
    // With another ref namespace on every machine, claims are decided on the remote again.
    let run = bd.run(&["config", "set", "claim.ref_prefix", "refs/heads/beads-claims/"]);
    assert_eq!(run.exit, Some(0), "{run:?}");
    let claimed = with_git(bd, &["claim", "bd-00"]).value();
    assert_eq!(claimed["confirmed"], true, "{claimed}");
    assert_eq!(git.references_glob("refs/heads/beads-claims/*").unwrap().count(), 1);
    let doctor = with_git(bd, &["doctor"]).value();
    assert!(
        doctor["checks"].as_array().unwrap().iter().all(|check| check["name"] != "claim_refs"),
        "{doctor}"
    );
    bd.error(&["config", "set", "claim.ref_prefix", "refs/heads/beads/store/"], "invalid_value");
}

#[test]
fn a_claim_in_a_batch_is_refused_where_every_claim_must_be_confirmed() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon], 2);
    let bd = &all[0];
    let mut client = crate::socket::Client::connect(&bd.socket()).unwrap();
    let ops = serde_json::json!([{"op": "claim", "id": "bd-00"}, {"op": "claim", "id": "bd-01"}]);
    for call in ["mutate", "atomic", "each"] {
        let answer = client.ask(&serde_json::json!({call: {"ops": ops}})).unwrap();
        assert_eq!(answer["error"]["code"], "invalid_value", "{call}: {answer}");
    }
    assert_eq!(bd.show("bd-00")["status"], "open");
}
